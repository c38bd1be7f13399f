/**
 * Isolation with util-linux only, for machines without bubblewrap. The processes of one command:
 *
 *   setpriv --pdeathsig   dies with the server, and the namespace with it (--kill-child)
 *    └ unshare            new user, mount, pid, ipc, uts, cgroup and network namespaces
 *       └ sh              the first process: builds the root, changes into it, waits for the shell
 *          └ entry        a second user namespace: the command has no capability over what the first one built
 *             └ bash      the command
 *
 * If slots have users of their own, the first user namespace is left out: root builds the sandbox as itself, and the
 * entry program creates the only one as the slot's user. If there is no entry program, a second unshare(1) does it.
 *
 * The mounts are one fstab per workspace, so that one mount(8) does them all. The fstab and the script of the first
 * process are files in the directory it starts in: commands inside could read a command line.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../host/system-path.ts';
import { WORKSPACE_DIR } from '../../workspace/workspace-dir.ts';
import type { Workspace } from '../../workspace/workspaces.ts';
import { errorsDescriptor, type LaunchLimits, renderEntry } from '../limits/launch-limits.ts';
import { endNamespace, signalNamespace } from '../process/terminate.ts';
import type { Hardening, IsolationDriver } from './isolation-driver.ts';
import { fstabLine, keptOptions, type Mount, mountsInside, readMounts } from './mounts.ts';
import { findShell, quote, shellArguments, shellEnvironment } from './shell.ts';
import { HELPER_SCRIPT, type NetworkMaker, SlotNetwork } from './slot-network.ts';
import {
  HOST_WORKSPACES,
  type ProcView,
  procFor,
  SANDBOX_UID,
  SHM_BYTES,
  type SystemView,
} from './system-view.ts';

const PROGRAMS = ['setpriv', 'unshare', 'mount', 'umount', 'pivot_root', 'sh'];

/** Files that `prepare` writes for the first process. */
const FSTAB = 'fstab';
const SETUP = 'setup';

export async function createUnshare(
  view: SystemView,
  allowNetwork: boolean,
  { entries, users }: Hardening,
): Promise<IsolationDriver> {
  for (const program of PROGRAMS) {
    if (!(await findProgram(program))) throw new Error(`${program} is not installed`);
  }
  const { ownUsers } = users;
  const mounts = await readMounts();
  const proc = procFor(view, ownUsers);
  const systemFstab = renderSystemMounts(view, mounts) + renderProcMounts(view, proc, mounts);
  const loopbackUp = await loopbackCommand();
  const loopback = allowNetwork ? undefined : loopbackUp;
  const mountAll = renderMounting(view, mounts);
  const setup = renderSetup(mountAll, { loopback: loopback ?? ':', ownUsers });
  const shell = await findShell();
  const asRoot = ownUsers ? [] : ['--user', '--map-root-user'];
  const namespaces = [...asRoot, '--mount', '--pid', '--ipc', '--uts', '--cgroup'];
  const lastStep = ({ user, group }: Workspace): string[] => {
    if (entries) return [entries.make({ user, group, mappedUser: user ?? 0 })];
    return ['unshare', '--user', `--map-user=${SANDBOX_UID}`, `--map-group=${SANDBOX_UID}`];
  };
  const noNetwork = loopback
    ? 'without a network'
    : 'without a network or a loopback, for which ip is missing,';
  const network = allowNetwork ? 'with the network of the host' : noNetwork;
  const standing = entries && {
    entries,
    shell,
    prepare: [],
    proc,
    env: shellEnvironment({}, { dir: WORKSPACE_DIR, tmpDir: '/tmp' }),
    ownNetwork: !allowNetwork,
    userOf: ({ user }: Workspace) => ({ user, mappedUser: user ?? 0 }),
    async launch(inside: string, baseDir: string, dir: string) {
      await writeFile(
        join(dir, FSTAB),
        renderSystemMounts(view, mounts) + renderHostMount(view, mounts, baseDir),
      );
      await writeFile(join(dir, SETUP), mountAll);
      return {
        program: 'setpriv',
        args: [
          ...[
            '--pdeathsig',
            'KILL',
            '--no-new-privs',
            'unshare',
            ...namespaces,
            '--fork',
            '--kill-child=SIGKILL',
          ],
          ...['sh', '-c', `. ./${SETUP}; exec "$@"`, 'sh', inside],
        ],
        cwd: dir,
      };
    },
  };

  return {
    kind: 'unshare',
    description: `unshare: every command runs in its own namespaces ${network} and sees a read-only system and its own workspace.`,
    shell: shell.kind,
    workspaceDir: () => WORKSPACE_DIR,
    tmpDir: () => '/tmp',
    mountedOwner: (dir) => users.mountedOwner(dir),
    async prepare(workspace) {
      // Anything may have been mounted in a directory of the operator since the start.
      const now = workspace.isMounted ? await readMounts() : mounts;
      const fstab = systemFstab + renderWorkspaceMounts(view, now, workspace);
      await writeFile(join(workspace.stateDir, FSTAB), fstab);
      await writeFile(join(workspace.stateDir, SETUP), setup);
      return users.hold(workspace, lastStep);
    },
    release: (workspace) => users.release(workspace),
    ...(allowNetwork
      ? {}
      : { openNetwork: async () => SlotNetwork.open(networkMaker(loopback, asRoot, namespaces)) }),
    launch(workspace, _, limits, network, { hasErrors = false, isCutOff = false } = {}) {
      const ownNetwork = allowNetwork && !isCutOff ? [] : ['--net'];
      const start = network
        ? [...network.entry, 'unshare']
        : ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', 'unshare', ...ownNetwork];
      const before = allowNetwork && isCutOff && loopbackUp ? `${loopbackUp}; ` : '';
      const errors = hasErrors ? errorsDescriptor(limits) : undefined;
      return {
        program: start[0] as string,
        args: [
          ...[...start.slice(1), ...namespaces, '--fork', '--kill-child=SIGKILL'],
          ...['sh', '-c', `${before}. ./${SETUP}; ${renderStart(limits)}`, 'sh'],
          ...[...lastStep(workspace), ...shellArguments(shell, limits, { errors })],
        ],
        entrances: limits.entrances,
        env: shellEnvironment(workspace, { dir: WORKSPACE_DIR, tmpDir: '/tmp' }),
        cwd: workspace.stateDir,
        end: endNamespace,
        signal: signalNamespace,
      };
    },
    ...(standing ? { standing } : {}),
  };
}

function networkMaker(
  loopback: string | undefined,
  asRoot: readonly string[],
  namespaces: readonly string[],
): NetworkMaker {
  if (!loopback) throw new Error('ip is not installed, so there is no loopback');
  return {
    helper: ['unshare', ...asRoot, '--net', 'sh', '-c', `${loopback}; ${HELPER_SCRIPT}`],
    namespaces: asRoot.length > 0 ? ['user', 'net'] : ['net'],
    trial: ['unshare', ...namespaces, '--fork', '--kill-child=SIGKILL', 'true'],
  };
}

function readOnlyOptions(mounts: readonly Mount[], path: string): string[] {
  return ['ro', 'nosuid', 'nodev', ...keptOptions(mounts, path)];
}

function renderSystemMounts(view: SystemView, mounts: readonly Mount[]): string {
  const inside = (path: string) => join(view.rootDir, path);
  const readOnly = (path: string) => readOnlyOptions(mounts, path);
  const lines = [
    fstabLine(view.rootDir, view.rootDir, 'none', ['bind', ...readOnly(view.rootDir)]),
    ...view.binds.map(({ source, target }) =>
      fstabLine(source, inside(target), 'none', [bindOption(mounts, source), ...readOnly(source)]),
    ),
    ...view.hidden.map((path) =>
      fstabLine('tmpfs', inside(path), 'tmpfs', ['ro', 'nosuid', 'nodev', 'mode=0555', 'size=4k']),
    ),
    // The devices are the host's own. Their owner and permissions are read-only, not what is written to them.
    ...view.devices.map((path) =>
      fstabLine(path, inside(path), 'none', ['bind', 'ro', 'nosuid', 'noexec', ...keptOptions(mounts, path)]),
    ),
    fstabLine('tmpfs', inside('/dev/shm'), 'tmpfs', ['nosuid', 'nodev', `size=${SHM_BYTES}`]),
    fstabLine('devpts', inside('/dev/pts'), 'devpts', [
      ...['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620'],
    ]),
    fstabLine('proc', inside('/proc'), 'proc', ['nosuid', 'nodev', 'noexec']),
  ];
  return lines.join('');
}

function renderProcMounts(view: SystemView, proc: ProcView, mounts: readonly Mount[]): string {
  const inside = (path: string) => join(view.rootDir, path);
  const lines = [
    ...proc.readOnly.map((path) =>
      fstabLine(inside(path), inside(path), 'none', ['bind', 'ro', 'nosuid', 'nodev', 'noexec']),
    ),
    ...proc.empty.map((path) =>
      fstabLine(view.emptyFile, inside(path), 'none', [
        ...['bind', 'noexec', ...readOnlyOptions(mounts, view.emptyFile)],
      ]),
    ),
  ];
  return lines.join('');
}

/**
 * In a user namespace the kernel refuses to bind a directory without the mounts inside it, so those are included and
 * made read-only below. If there are none at start, none are included: a later mount makes commands fail until the next
 * start, instead of being writable.
 */
function bindOption(mounts: readonly Mount[], source: string): 'bind' | 'rbind' {
  return mountsInside(mounts, source).length > 0 ? 'rbind' : 'bind';
}

function renderWorkspaceMounts(view: SystemView, mounts: readonly Mount[], workspace: Workspace): string {
  const writable = (path: string) => [
    bindOption(mounts, path),
    'nosuid',
    'nodev',
    ...keptOptions(mounts, path),
  ];
  return (
    fstabLine(workspace.tmpDir, join(view.rootDir, '/tmp'), 'none', writable(workspace.tmpDir)) +
    fstabLine(workspace.dir, join(view.rootDir, WORKSPACE_DIR), 'none', writable(workspace.dir))
  );
}

function renderHostMount(view: SystemView, mounts: readonly Mount[], baseDir: string): string {
  const options = [bindOption(mounts, baseDir), 'nosuid', 'nodev', ...keptOptions(mounts, baseDir)];
  return fstabLine(baseDir, join(view.rootDir, HOST_WORKSPACES), 'none', options);
}

/** The first thing that the first process of the namespace does. It leaves no path of the host in the environment. */
function renderSetup(
  mountAll: string,
  { loopback, ownUsers }: { loopback: string; ownUsers: boolean },
): string {
  return [
    'fail() { echo "sandbox: $1" >&2; exit 125; }',
    // One more is created below; commands get none, because in a namespace of its own a command would have all rights.
    // The number belongs to a user namespace, so if the host's is the only one, only the filter forbids it.
    ownUsers ? '' : 'echo 1 > /proc/sys/user/max_user_namespaces || fail "cannot limit user namespaces"',
    loopback,
    mountAll,
  ].join('\n');
}

function renderMounting(view: SystemView, mounts: readonly Mount[]): string {
  return [
    'fail() { echo "sandbox: $1" >&2; exit 125; }',
    '{ echo sandbox > /proc/sys/kernel/hostname; } 2>/dev/null || :',
    `mount -a -T ${FSTAB} || fail "cannot mount"`,
    ...renderNestedReadOnly(view, mounts),
    `cd ${quote(view.rootDir)} && pivot_root . . && umount -l . && cd / || fail "cannot change the root"`,
    'unset OLDPWD',
    '',
  ].join('\n');
}

/**
 * The groups are entered last: what builds the sandbox does not count against the limits of what runs in it. `exit $?`
 * keeps the first process separate, as in shell.ts.
 */
function renderStart(limits: LaunchLimits): string {
  return `${renderEntry(limits)}"$@"; exit $?`;
}

/** A read-only bind does not apply to the mounts inside it; there are seldom any. */
function renderNestedReadOnly(view: SystemView, mounts: readonly Mount[]): string[] {
  return view.binds.flatMap(({ source, target }) =>
    mountsInside(mounts, source).map((mount) => {
      const options = ['remount', 'bind', 'ro', 'nosuid', 'nodev', ...keptOptions(mounts, mount.path)];
      const path = join(view.rootDir, target, mount.path.slice(source.length));
      return `mount -o ${[...new Set(options)].join(',')} ${quote(path)} || fail "cannot make a mount read-only"`;
    }),
  );
}

/** A new network namespace has a loopback that is down; without it a command could not connect to itself. */
async function loopbackCommand(): Promise<string | undefined> {
  if (!(await findProgram('ip'))) return undefined;
  return 'ip link set lo up 2>/dev/null || :';
}
