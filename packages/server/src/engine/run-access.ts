/** Finds runs for their owner. Another owner's run looks exactly like one that does not exist. */
import { isRunId, TalariaError } from '@talaria/protocol';
import type { Journal } from '../journal/journal.ts';
import type { StoredRun } from '../journal/run-state.ts';

export async function findRun(
  journal: Pick<Journal, 'getRun'>,
  owner: string,
  runId: string,
): Promise<StoredRun> {
  return expectOwn(isRunId(runId) ? await journal.getRun(runId) : undefined, owner, runId);
}

export function expectOwn(run: StoredRun | undefined, owner: string, runId: string): StoredRun {
  if (run !== undefined && run.owner === owner) return run;
  throw new TalariaError('run_not_found', { message: `Run not found: ${runId}` });
}
