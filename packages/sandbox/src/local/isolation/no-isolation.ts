/**
 * No isolation: commands run as the server's user and see what it sees. What remains of the contract is the clean
 * environment and the best effort to end what a command started (process/terminate.ts).
 */
import { createHash } from 'node:crypto';
import { processToken, readUptime } from '../../host/process-table.ts';
import { findProgram } from '../../host/system-path.ts';
import { errorsDescriptor } from '../limits/launch-limits.ts';
import { endAbandoned, endMarked, MARKER_VARIABLE, signalMarked } from '../process/terminate.ts';
import type { IsolationDriver } from './isolation-driver.ts';
import { findShell, shellArguments, shellEnvironment } from './shell.ts';
import { SharedUser } from './slot-users.ts';

/**
 * Ends what a killed server without isolation left running in these workspaces. Every start does this: the next server
 * may have found an isolation.
 */
export function sweepAbandoned(workspacesDir: string): void {
  endAbandoned(markerKey(workspacesDir));
}

const NONE = "none: commands run as the server's user and see its files and network";

/** Takes the reason out of a description of no isolation. Without the sentence about this server, it also fits a container. */
export function reasonIn(description: string): string {
  const isOurs = description.startsWith(`${NONE} (`);
  return isOurs ? description.slice(NONE.length + 2, -2) : description.replace(/\.$/, '');
}

export async function createNoIsolation(workspacesDir: string, reason: string): Promise<IsolationDriver> {
  const shell = await findShell();
  const users = new SharedUser();
  // If setpriv is available, the shell dies with the server; the next start sweeps the rest.
  const wrapper = (await findProgram('setpriv')) ? ['setpriv', '--pdeathsig', 'KILL'] : [];
  const workspacesKey = markerKey(workspacesDir);

  return {
    kind: 'none',
    description: `${NONE} (${reason}).`,
    shell: shell.kind,
    workspaceDir: (workspace) => workspace.dir,
    tmpDir: (workspace) => workspace.tmpDir,
    mountedOwner: (dir) => users.mountedOwner(dir),
    prepare: (workspace) => users.hold(workspace),
    release: () => {},
    launch: (workspace, executionId, limits, _, { hasErrors = false } = {}) => {
      const errors = hasErrors ? errorsDescriptor(limits) : undefined;
      const start = shellArguments(shell, limits, { isFirst: true, errors });
      const [program = '', ...args] = [...wrapper, ...start];
      // A second earlier, because the two clocks are read and rounded separately.
      const launchedAt = readUptime() - 1;
      const marker = `${processToken()}:${workspacesKey}:${executionId}`;
      return {
        program,
        args,
        entrances: limits.entrances,
        env: { ...shellEnvironment(workspace, workspace), [MARKER_VARIABLE]: marker },
        cwd: workspace.dir,
        end: (pid) => endMarked(pid, marker, launchedAt),
        signal: (pid, signal) => signalMarked(pid, marker, launchedAt, signal),
      };
    },
  };
}

function markerKey(workspacesDir: string): string {
  return createHash('sha256').update(workspacesDir).digest('hex').slice(0, 16);
}
