/**
 * Isolation with bubblewrap, one per command. The first process of its pid namespace is our own shell, not
 * bubblewrap's: bubblewrap's reports the end of the command before the processes it left behind are gone.
 *
 * If slots have users of their own, bubblewrap creates no user namespace: it builds the sandbox as root, with root's
 * access, and the entry program creates one as the slot's user. If the server is root, the entry program also makes the
 * host's devices read-only, which bubblewrap cannot: their owner and permissions, not what is written to them.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram, SYSTEM_PATH } from '../../host/system-path.ts';
import { WORKSPACE_DIR } from '../../workspace/workspace-dir.ts';
import type { Workspace } from '../../workspace/workspaces.ts';
import { errorsDescriptor } from '../limits/launch-limits.ts';
import { endNamespace, signalNamespace } from '../process/terminate.ts';
import { privateSteps, readOnlySteps } from './entry/entry-program.ts';
import type { Hardening, IsolationDriver } from './isolation-driver.ts';
import { keptOptions, readMounts } from './mounts.ts';
import { findShell, firstProcess, shellArguments, shellEnvironment } from './shell.ts';
import { HELPER_SCRIPT, type NetworkMaker, SlotNetwork } from './slot-network.ts';
import {
  HOST_PROC,
  HOST_WORKSPACES,
  type ProcView,
  procFor,
  SANDBOX_UID,
  SHM_BYTES,
  type SystemView,
} from './system-view.ts';

const run = promisify(execFile);

/** Options that not every version has. */
const LATER_OPTIONS = ['--perms', '--size', '--disable-userns'];

/** All namespaces but those of users and the network; with a first process of their own, which ends with the server. */
const NAMESPACES = [
  ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--hostname', 'sandbox'],
  ...['--die-with-parent', '--as-pid-1'],
];

/** Uses all later options without asking whether bubblewrap has them: that would be one more process at each start. */
export function createBubblewrap(
  view: SystemView,
  allowNetwork: boolean,
  hardening: Hardening,
): Promise<IsolationDriver> {
  return create(view, allowNetwork, hardening, () => true);
}

/** Uses the later options that bubblewrap says it has; undefined if it has all of them. */
export async function createOlderBubblewrap(
  view: SystemView,
  allowNetwork: boolean,
  hardening: Hardening,
): Promise<IsolationDriver | undefined> {
  const { stdout: help } = await run(await findBubblewrap(), ['--help'], { env: { PATH: SYSTEM_PATH } });
  const has = (option: string) => help.includes(option);
  if (LATER_OPTIONS.every(has)) return undefined;
  return create(view, allowNetwork, hardening, has);
}

async function findBubblewrap(): Promise<string> {
  const program = await findProgram('bwrap');
  if (!program) throw new Error('bwrap is not installed');
  return program;
}

async function create(
  view: SystemView,
  allowNetwork: boolean,
  { entries, users }: Hardening,
  has: (option: string) => boolean,
): Promise<IsolationDriver> {
  const program = await findBubblewrap();
  const { ownUsers } = users;
  const isRoot = process.getuid?.() === 0;
  if (isRoot && !entries) throw new Error('it leaves the devices of the host to root');
  if (ownUsers && !has('--perms')) throw new Error('this version can make /dev/shm only for root');
  const devices = { paths: view.devices, options: ['nosuid', ...keptOptions(await readMounts(), '/dev')] };
  const enter = ({ user, group }: Workspace): string[] => {
    if (!entries) return [];
    return [entries.make(isRoot ? { user, group, mappedUser: user ?? 0, readOnly: devices } : {})];
  };
  /** A command can take over a first process that has no more rights than itself, so that process is filtered too. */
  const inside = (workspace: Workspace, first: readonly string[]): string[] =>
    isRoot ? [...first, ...enter(workspace)] : [...enter(workspace), ...first];
  const options = [
    ...userOptions({ isRoot, ownUsers }, has('--disable-userns')),
    ...NAMESPACES,
    // Older versions cannot limit a tmpfs.
    ...systemOptions(view, procFor(view, ownUsers), [
      ...(ownUsers ? ['--perms', '1777'] : []),
      ...(has('--size') ? ['--size', String(SHM_BYTES)] : []),
    ]),
  ];
  const shell = await findShell();
  const standing = entries && {
    entries,
    shell,
    // bubblewrap lets later mounts of the host in, and this sandbox stays for many commands.
    prepare: [...privateSteps(), ...(isRoot ? readOnlySteps({ readOnly: devices }) : [])],
    proc: procFor(view, ownUsers),
    env: shellEnvironment({}, { dir: WORKSPACE_DIR, tmpDir: '/tmp' }),
    ownNetwork: !allowNetwork,
    userOf: ({ user }: Workspace) => ({ user, mappedUser: user ?? 0 }),
    launch: async (inside: string, baseDir: string) => ({
      program,
      args: [...standingOptions(view, ownUsers), '--bind', baseDir, HOST_WORKSPACES, '--', inside],
      cwd: '/',
    }),
  };
  const network = allowNetwork ? 'with the network of the host' : 'without a network';

  return {
    kind: 'bubblewrap',
    description: `bubblewrap: every command runs in its own namespaces ${network} and sees a read-only system and its own workspace.`,
    shell: shell.kind,
    workspaceDir: () => WORKSPACE_DIR,
    tmpDir: () => '/tmp',
    mountedOwner: (dir) => users.mountedOwner(dir),
    prepare: (workspace) => users.hold(workspace, enter),
    release: (workspace) => users.release(workspace),
    ...(allowNetwork
      ? {}
      : { openNetwork: () => SlotNetwork.open(networkMaker(program, options, view, ownUsers)) }),
    launch(workspace, _, limits, network, { hasErrors = false, isCutOff = false } = {}) {
      const ownNetwork = allowNetwork && !isCutOff ? [] : ['--unshare-net'];
      const start = network ? [...network.entry, program] : [program, ...ownNetwork];
      const errors = hasErrors ? errorsDescriptor(limits) : undefined;
      return {
        program: start[0] as string,
        args: [
          ...[...start.slice(1), ...options, ...workspaceOptions(workspace), '--'],
          ...[...inside(workspace, firstProcess(limits)), ...shellArguments(shell, limits, { errors })],
        ],
        entrances: limits.entrances,
        env: shellEnvironment(workspace, { dir: WORKSPACE_DIR, tmpDir: '/tmp' }),
        cwd: '/',
        end: endNamespace,
        signal: signalNamespace,
      };
    },
    ...(standing ? { standing } : {}),
  };
}

/**
 * Its programs run as root of the machine or of a user namespace. In a user namespace the kernel allows a new /proc only if
 * another one without covered paths is mounted there.
 */
function standingOptions(view: SystemView, ownUsers: boolean): string[] {
  const user = ownUsers ? [] : ['--unshare-user', '--uid', '0', '--gid', '0'];
  // To map root into a further namespace, a process needs CAP_SETFCAP.
  const forUsers = ownUsers ? ['CAP_SETUID', 'CAP_SETGID'] : ['CAP_SETFCAP'];
  const rights = ['CAP_SYS_ADMIN', 'CAP_NET_ADMIN', ...forUsers];
  return [
    ...[...user, ...rights.flatMap((name) => ['--cap-add', name]), ...NAMESPACES],
    ...[
      ...rootOptions(view),
      ...hiddenOptions(view),
      '--dev',
      '/dev',
      '--remount-ro',
      '/dev',
      '--proc',
      '/proc',
    ],
    ...(ownUsers ? [] : ['--bind', '/proc', HOST_PROC]),
  ];
}

/** bubblewrap sets the loopback up itself. */
function networkMaker(
  program: string,
  options: readonly string[],
  view: SystemView,
  ownUsers: boolean,
): NetworkMaker {
  const asRoot = ownUsers ? [] : ['--unshare-user', '--uid', '0', '--gid', '0'];
  const helper = [
    '--unshare-net',
    '--die-with-parent',
    ...rootOptions(view),
    '--',
    'sh',
    '-c',
    HELPER_SCRIPT,
  ];
  return {
    helper: [program, ...asRoot, ...helper],
    namespaces: ownUsers ? ['net'] : ['user', 'net'],
    trial: [program, ...options, '--', 'true'],
  };
}

/** The capabilities that root keeps are for the entry program, which loses them with the user namespace it creates. */
function userOptions(
  { isRoot, ownUsers }: { isRoot: boolean; ownUsers: boolean },
  canDisableUserNamespaces: boolean,
): string[] {
  const namespace = (uid: number) => ['--unshare-user', '--uid', String(uid), '--gid', String(uid)];
  const rights = (...names: string[]) => names.flatMap((name) => ['--cap-add', name]);
  if (ownUsers) return rights('CAP_SYS_ADMIN', 'CAP_SETUID', 'CAP_SETGID');
  // For any other user bubblewrap creates a second namespace, which has no rights over the mounts.
  if (isRoot) return [...namespace(0), ...rights('CAP_SYS_ADMIN')];
  return [...namespace(SANDBOX_UID), ...(canDisableUserNamespaces ? ['--disable-userns'] : [])];
}

function rootOptions(view: SystemView): string[] {
  return [
    ...['--ro-bind', view.rootDir, '/'],
    ...view.binds.flatMap(({ source, target }) => ['--ro-bind', source, target]),
  ];
}

function hiddenOptions({ hidden }: SystemView): string[] {
  return hidden.flatMap((path) => ['--tmpfs', path, '--remount-ro', path]);
}

function systemOptions(view: SystemView, proc: ProcView, shmOptions: readonly string[]): string[] {
  return [
    ...rootOptions(view),
    ...hiddenOptions(view),
    ...['--dev', '/dev', ...shmOptions, '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--proc', '/proc'],
    ...proc.readOnly.flatMap((path) => ['--ro-bind', path, path]),
    ...proc.empty.flatMap((path) => ['--ro-bind', view.emptyFile, path]),
  ];
}

function workspaceOptions(workspace: Workspace): string[] {
  return [
    '--bind',
    workspace.tmpDir,
    '/tmp',
    '--bind',
    workspace.dir,
    WORKSPACE_DIR,
    '--chdir',
    WORKSPACE_DIR,
  ];
}
