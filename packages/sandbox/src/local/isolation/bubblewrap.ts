/**
 * Isolation with bubblewrap, one per command. The first process of its pid namespace is a shell of ours and not
 * bubblewrap's own: bubblewrap's tells the outside that the command has ended before what it left behind is gone.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { endNamespace, signalNamespace } from '../process/terminate.ts';
import { findProgram, SYSTEM_PATH } from '../system-path.ts';
import type { Workspace } from '../workspaces.ts';
import type { IsolationDriver } from './isolation-driver.ts';
import { findShell, firstProcess, shellArguments, shellEnvironment } from './shell.ts';
import { HELPER_SCRIPT, type NetworkMaker, SlotNetwork } from './slot-network.ts';
import { SANDBOX_UID, SHM_BYTES, type SystemView, WORKSPACE_DIR } from './system-view.ts';

const run = promisify(execFile);

export async function createBubblewrap(view: SystemView, allowNetwork: boolean): Promise<IsolationDriver> {
  const program = await findProgram('bwrap');
  if (!program) throw new Error('bwrap is not installed');
  const { stdout: help } = await run(program, ['--help'], { env: { PATH: SYSTEM_PATH } });
  const options = [
    ...namespaceOptions(help.includes('--disable-userns')),
    ...['--die-with-parent', '--as-pid-1'],
    // Older versions cannot limit a tmpfs.
    ...systemOptions(view, help.includes('--size') ? ['--size', String(SHM_BYTES)] : []),
  ];
  const ownNetwork = allowNetwork ? [] : ['--unshare-net'];
  const shell = await findShell();
  const network = allowNetwork ? 'with the network of the host' : 'without a network';

  return {
    kind: 'bubblewrap',
    description: `bubblewrap: every command runs in its own namespaces ${network} and sees a read-only system and its own workspace.`,
    shell,
    workspaceDir: () => WORKSPACE_DIR,
    tmpDir: () => '/tmp',
    prepare: async () => {},
    ...(allowNetwork ? {} : { openNetwork: () => SlotNetwork.open(networkMaker(program, options, view)) }),
    launch(workspace, _, limits, network) {
      const start = network ? [...network.entry, program] : [program, ...ownNetwork];
      return {
        program: start[0] as string,
        args: [
          ...[...start.slice(1), ...options, ...workspaceOptions(workspace), '--'],
          ...[...firstProcess(limits), ...shellArguments(shell, limits)],
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

/** bubblewrap sets the loopback up itself. */
function networkMaker(program: string, options: readonly string[], view: SystemView): NetworkMaker {
  const asRoot = ['--unshare-user', '--uid', '0', '--gid', '0', '--unshare-net', '--die-with-parent'];
  return {
    helper: [program, ...asRoot, ...rootOptions(view), '--', 'sh', '-c', HELPER_SCRIPT],
    trial: [program, ...options, '--', 'true'],
  };
}

function namespaceOptions(canDisableUserNamespaces: boolean): string[] {
  const uid = String(SANDBOX_UID);
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(canDisableUserNamespaces ? ['--disable-userns'] : []),
    ...['--uid', uid, '--gid', uid, '--hostname', 'sandbox'],
  ];
}

function rootOptions(view: SystemView): string[] {
  return [
    ...['--ro-bind', view.rootDir, '/'],
    ...view.binds.flatMap(({ source, target }) => ['--ro-bind', source, target]),
  ];
}

function systemOptions(view: SystemView, shmSize: readonly string[]): string[] {
  return [
    ...rootOptions(view),
    ...view.hidden.flatMap((path) => ['--tmpfs', path, '--remount-ro', path]),
    ...['--dev', '/dev', ...shmSize, '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--proc', '/proc'],
    ...view.procReadOnly.flatMap((path) => ['--ro-bind', path, path]),
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
