/** What the model has to know before its conversation continues in a fork, which has a sandbox of its own. */
import { runningProcesses, usesShell } from './shell-history.ts';
import type { PastCall } from './tool.ts';

/** The notice about what the calls of the other run left there; undefined if the fork lacks nothing. It says nothing of files. */
export function forkNotice(calls: readonly PastCall[]): string | undefined {
  const ofServer = calls.filter(({ ofClient }) => ofClient !== true);
  if (!usesShell(ofServer)) return undefined;
  const running = runningProcesses(ofServer);
  const processes =
    running.length === 0 ? '' : ` These background processes do not run here: ${running.join(', ')}.`;
  return (
    '[From here on this is a fork of the run, with a sandbox of its own. What was in /tmp, and what the shell ' +
    `remembered (its directory, variables), is not here.${processes} Make again what you still need.]`
  );
}
