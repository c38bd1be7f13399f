/** `talaria stop`: asks runs to stop and waits until they have. */
import { APIError, type Run, type Talaria } from '@talaria/client';
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson, safeLine } from '../text/safe-text.ts';
import { paintStatus } from './describe-run.ts';

export async function stop(args: Arguments<'stop'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  // All are looked up before one is stopped: a mistake in an id stops nothing.
  const ids = await Promise.all(args.run.map((given) => findRun(client, given)));
  const stopped = await Promise.allSettled(ids.map((id) => stopOne(client, id)));
  const { style } = terminal.stdout;
  for (const outcome of stopped) {
    if (outcome.status !== 'fulfilled') continue;
    const { run_id, status } = outcome.value;
    terminal.out(
      args.json
        ? safeJson(outcome.value)
        : `${safeLine(run_id)} ${paintStatus(status, style)(safeLine(status))}`,
    );
  }
  const failed = stopped.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return exitCodes.ok;
}

async function stopOne(client: Talaria, runId: string): Promise<Run> {
  try {
    await client.runs.stop(runId);
  } catch (error) {
    // It ended before it could be stopped, which is fine.
    if (!(error instanceof APIError && error.code === 'run_not_active')) throw error;
  }
  return client.runs.wait(runId);
}
