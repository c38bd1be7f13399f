/** What a command does with the run that it has started: follows it, or leaves it alone. */
import type { RunCreated, Talaria } from '@talaria/client';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { nextCommand } from '../text/next-command.ts';
import { safeJson, safeLine } from '../text/safe-text.ts';
import { followRun } from './follow-run.ts';
import { openView, type ViewOptions } from './open-view.ts';

/** A server that is busy or being updated is asked again; the idempotency key makes that safe. */
export const CREATE_RETRIES = 2;

/** How the run ended, other than by leaving it to itself. */
const ENDED: readonly number[] = [exitCodes.ok, exitCodes.runFailed, exitCodes.runCancelled];

/** `linesAtEnd`: what a person is told when the run has ended. */
export async function followCreated(
  client: Talaria,
  created: RunCreated,
  args: ViewOptions & { readonly detach: boolean; readonly server: string | undefined },
  terminal: Terminal,
  linesAtEnd?: (runId: string) => Promise<string[]>,
): Promise<number> {
  const { run_id: runId } = created;
  if (safeLine(runId) !== runId) throw new CommandError('The server gave the run an id that cannot be shown');
  if (args.json) terminal.out(safeJson(created));
  if (args.detach) {
    if (!args.json) terminal.out(runId);
    if (terminal.stdout.isTerminal && !args.quiet && !args.json)
      terminal.err(`Watch it: ${nextCommand(`watch ${runId}`, args.server)}`);
    return exitCodes.ok;
  }
  using view = openView(args, terminal);
  const exitCode = await followRun({ client, runId, view, terminal, server: args.server });
  if (linesAtEnd !== undefined && ENDED.includes(exitCode) && !args.json && !args.quiet) {
    for (const line of await linesAtEnd(runId)) view.note(line);
  }
  return exitCode;
}
