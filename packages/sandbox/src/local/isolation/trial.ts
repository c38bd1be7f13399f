/** Commands that a backend runs before any other, to find what works on this machine. */

import { removeTree } from '../../workspace/remove-tree.ts';
import { anonymousWorkspaceName } from '../../workspace/workspace-names.ts';
import type { Workspace, Workspaces } from '../../workspace/workspaces.ts';
import { type LaunchLimits, NO_LIMITS } from '../limits/launch-limits.ts';
import type { PipeStock } from '../process/pipe-stock.ts';
import { type OutputSink, runCommand, type Starter } from '../process/run-command.ts';
import type { IsolationDriver } from './isolation-driver.ts';
import { renderScript } from './shell.ts';

export interface Trial {
  limits: LaunchLimits;
  command: string;
  /** Whether there is nothing left to wait for, judging by the output so far. */
  isOver(output: string): boolean;
}

/** The output of a trial, or why it could not run. */
export type Observed = string | Error;

export interface TrialSite {
  workspaces: Workspaces;
  pipes: PipeStock;
}

export const NO_TRIAL: Trial = { limits: NO_LIMITS, command: '', isOver: () => false };

const TIMEOUT_MS = 10_000;
const OUTPUT_LENGTH = 10_000;

export async function observeTrial(
  driver: IsolationDriver,
  trial: Trial,
  site: TrialSite,
): Promise<Observed> {
  if (trial === NO_TRIAL) return '';
  return runTrial(driver, trial, site).catch((error: Error) => error);
}

/** In a workspace of its own. Rejects if the command could not run. */
export async function runTrial(
  driver: IsolationDriver,
  { limits, command, isOver }: Trial,
  { workspaces, pipes }: TrialSite,
  start: (workspace: Workspace) => Starter = (workspace) => driver.launch(workspace, 'probe', limits),
): Promise<string> {
  const created = await workspaces.create(anonymousWorkspaceName());
  const over = new AbortController();
  let output = '';
  const capture: OutputSink = {
    write(chunk) {
      output = (output + chunk.toString()).slice(0, OUTPUT_LENGTH);
      if (isOver(output)) over.abort();
      return undefined;
    },
  };
  try {
    const workspace = await driver.prepare(created);
    const end = await runCommand(start(workspace), {
      script: renderScript({ command, workdir: driver.workspaceDir(workspace), env: {} }),
      scriptDir: workspace.stateDir,
      pipes,
      capture,
      timeoutMs: TIMEOUT_MS,
      signal: over.signal,
    }).finally(() => driver.release(workspace));
    if (end.cause === 'timeout') throw new Error('a first command did not end');
    if (end.started && output !== '') return output;
    throw new Error(end.message.replaceAll('\n', '; ') || `a first command exited with code ${end.exitCode}`);
  } finally {
    // A first command leaves little in /tmp. Once that is gone, no process is needed to delete the rest.
    await removeTree(created.tmpDir);
    await workspaces.remove(created.name);
  }
}
