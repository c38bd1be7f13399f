/**
 * Isolation with util-linux alone, for machines without bubblewrap. What one command costs:
 *
 *   setpriv --pdeathsig   dies with the server, and the namespace with it (--kill-child)
 *    └ unshare            new user, mount, pid, ipc, uts, cgroup and network namespaces
 *       └ sh              the first process: builds the root, changes into it, waits for the shell
 *          └ unshare      a second user namespace: the command has no capability over what the first one built
 *             └ bash      the command
 *
 * The mounts are one fstab per workspace, so that one mount(8) does them all.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LaunchLimits, renderEntry } from '../limits/launch-limits.ts';
import { endNamespace, signalNamespace } from '../process/terminate.ts';
import { findProgram } from '../system-path.ts';
import type { Workspace } from '../workspaces.ts';
import type { IsolationDriver } from './isolation-driver.ts';
import { fstabLine, keptOptions, type Mount, mountsInside, readMounts } from './mounts.ts';
import { findShell, quote, shellArguments, shellEnvironment } from './shell.ts';
import { HELPER_SCRIPT, type NetworkMaker, SlotNetwork } from './slot-network.ts';
import { SANDBOX_UID, SHM_BYTES, type SystemView, WORKSPACE_DIR } from './system-view.ts';

const PROGRAMS = ['setpriv', 'unshare', 'mount', 'umount', 'pivot_root', 'sh'];

export async function createUnshare(view: SystemView, allowNetwork: boolean): Promise<IsolationDriver> {
  for (const program of PROGRAMS) {
    if (!(await findProgram(program))) throw new Error(`${program} is not installed`);
  }
  const mounts = await readMounts();
  const systemFstab = renderSystemMounts(view, mounts);
  const loopback = await loopbackCommand(allowNetwork);
  const setup = renderSetup(view, mounts, loopback ?? ':');
  const shell = await findShell();
  const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--ipc', '--uts', '--cgroup'];
  const ownNetwork = allowNetwork ? [] : ['--net'];
  const noNetwork = loopback
    ? 'without a network'
    : 'without a network or a loopback, for which ip is missing,';
  const network = allowNetwork ? 'with the network of the host' : noNetwork;

  return {
    kind: 'unshare',
    description: `unshare: every command runs in its own namespaces ${network} and sees a read-only system and its own workspace.`,
    shell,
    workspaceDir: () => WORKSPACE_DIR,
    tmpDir: () => '/tmp',
    prepare: (workspace) =>
      writeFile(fstabPath(workspace), systemFstab + renderWorkspaceMounts(view, mounts, workspace)),
    ...(allowNetwork
      ? {}
      : { openNetwork: async () => SlotNetwork.open(networkMaker(loopback, namespaces)) }),
    launch(workspace, _, limits, network) {
      const start = network
        ? [...network.entry, 'unshare']
        : ['setpriv', '--pdeathsig', 'KILL', 'unshare', ...ownNetwork];
      return {
        program: start[0] as string,
        args: [
          ...[...start.slice(1), ...namespaces, '--fork', '--kill-child=SIGKILL'],
          ...['sh', '-c', setup + renderStart(limits), 'sh', fstabPath(workspace)],
          ...shellArguments(shell, limits),
        ],
        entrances: limits.entrances,
        env: shellEnvironment(WORKSPACE_DIR, '/tmp'),
        cwd: '/',
        end: endNamespace,
        signal: signalNamespace,
      };
    },
  };
}

function networkMaker(loopback: string | undefined, namespaces: readonly string[]): NetworkMaker {
  if (!loopback) throw new Error('ip is not installed, so there is no loopback');
  return {
    helper: [
      ...['unshare', '--user', '--map-root-user', '--net'],
      ...['sh', '-c', `${loopback}; ${HELPER_SCRIPT}`],
    ],
    trial: ['unshare', ...namespaces, '--fork', '--kill-child=SIGKILL', 'true'],
  };
}

function fstabPath(workspace: Workspace): string {
  return join(workspace.stateDir, 'fstab');
}

function renderSystemMounts(view: SystemView, mounts: readonly Mount[]): string {
  const inside = (path: string) => join(view.rootDir, path);
  const readOnly = (path: string) => ['ro', 'nosuid', 'nodev', ...keptOptions(mounts, path)];
  const lines = [
    fstabLine(view.rootDir, view.rootDir, 'none', ['bind', ...readOnly(view.rootDir)]),
    ...view.binds.map(({ source, target }) =>
      fstabLine(source, inside(target), 'none', [bindOption(mounts, source), ...readOnly(source)]),
    ),
    ...view.hidden.map((path) =>
      fstabLine('tmpfs', inside(path), 'tmpfs', ['ro', 'nosuid', 'nodev', 'mode=0555', 'size=4k']),
    ),
    ...view.devices.map((path) => fstabLine(path, inside(path), 'none', ['bind'])),
    fstabLine('tmpfs', inside('/dev/shm'), 'tmpfs', ['nosuid', 'nodev', `size=${SHM_BYTES}`]),
    fstabLine('devpts', inside('/dev/pts'), 'devpts', ['newinstance', 'ptmxmode=0666', 'mode=0620']),
    fstabLine('proc', inside('/proc'), 'proc', ['nosuid', 'nodev', 'noexec']),
    ...view.procReadOnly.map((path) =>
      fstabLine(inside(path), inside(path), 'none', ['bind', 'ro', 'nosuid', 'nodev', 'noexec']),
    ),
  ];
  return lines.join('');
}

/**
 * In a user namespace the kernel refuses to bind a directory without the mounts inside it, so those are taken along
 * and made read-only below. Where there are none at start none are taken along: one that is mounted later makes
 * commands fail until the next start, instead of being writable.
 */
function bindOption(mounts: readonly Mount[], source: string): 'bind' | 'rbind' {
  return mountsInside(mounts, source).length > 0 ? 'rbind' : 'bind';
}

function renderWorkspaceMounts(view: SystemView, mounts: readonly Mount[], workspace: Workspace): string {
  const writable = (path: string) => ['bind', 'nosuid', 'nodev', ...keptOptions(mounts, path)];
  return (
    fstabLine(workspace.tmpDir, join(view.rootDir, '/tmp'), 'none', writable(workspace.tmpDir)) +
    fstabLine(workspace.dir, join(view.rootDir, WORKSPACE_DIR), 'none', writable(workspace.dir))
  );
}

/** The first process of the namespace; `exit $?` at its end (renderStart) keeps it one of its own, as in shell.ts. */
function renderSetup(view: SystemView, mounts: readonly Mount[], loopback: string): string {
  return [
    'fail() { echo "sandbox: $1" >&2; exit 125; }',
    'fstab=$1; shift',
    // One more is made below; commands get none, for in a namespace of its own a command would have all rights.
    'echo 1 > /proc/sys/user/max_user_namespaces || fail "cannot limit user namespaces"',
    '{ echo sandbox > /proc/sys/kernel/hostname; } 2>/dev/null || :',
    loopback,
    'mount -a -T "$fstab" || fail "cannot mount"',
    ...renderNestedReadOnly(view, mounts),
    `cd ${quote(view.rootDir)} && pivot_root . . && umount -l . && cd / || fail "cannot change the root"`,
    '',
  ].join('\n');
}

/** The groups are entered last: what builds the sandbox does not count against the limits of what runs in it. */
function renderStart(limits: LaunchLimits): string {
  const user = `unshare --user --map-user=${SANDBOX_UID} --map-group=${SANDBOX_UID}`;
  return `${renderEntry(limits)}${user} "$@"; exit $?`;
}

/** A read-only bind does not reach the mounts inside it; there are seldom any. */
function renderNestedReadOnly(view: SystemView, mounts: readonly Mount[]): string[] {
  return view.binds.flatMap(({ source, target }) =>
    mountsInside(mounts, source).map((mount) => {
      const options = ['remount', 'bind', 'ro', 'nosuid', 'nodev', ...keptOptions(mounts, mount.path)];
      const path = join(view.rootDir, target, mount.path.slice(source.length));
      return `mount -o ${[...new Set(options)].join(',')} ${quote(path)} || fail "cannot make a mount read-only"`;
    }),
  );
}

/** A new network namespace has a loopback that is down; without it a command could not talk to itself. */
async function loopbackCommand(allowNetwork: boolean): Promise<string | undefined> {
  if (allowNetwork || !(await findProgram('ip'))) return undefined;
  return 'ip link set lo up 2>/dev/null || :';
}
