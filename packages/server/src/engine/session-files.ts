/** Which files a run gets from the session that it names. */
import { type Checkpoint, isMissed } from '../journal/checkpoints.ts';
import { type Holder, runHolder, sessionHolder } from '../journal/contents.ts';
import type { Journal } from '../journal/journal.ts';
import type { RunRequest } from '../journal/records.ts';
import type { StoredRun } from '../journal/run-state.ts';

export interface FoundFiles {
  checkpoint: Checkpoint;
  /** The session or the run that keeps the blobs of the checkpoint. */
  holder: Holder;
}

/** The files that the session has for the run now; undefined if there are none, or the run wants none. */
export async function findSessionFiles(
  journal: Pick<Journal, 'sessions' | 'previousTurn' | 'readCheckpoints'>,
  run: StoredRun,
  { session_named: isNamed, workspace }: RunRequest,
): Promise<FoundFiles | undefined> {
  if (!isNamed || workspace?.fresh === true || workspace?.mount !== undefined) return undefined;
  const { owner, sessionId } = run;
  const kept = await journal.sessions.files(owner, sessionId);
  if (kept !== undefined) return { checkpoint: kept.checkpoint, holder: sessionHolder(owner, sessionId) };
  // A run without a named session leaves nothing in one; while it is kept, another run can continue it by its id.
  const previous = await journal.previousTurn(run);
  if (previous === undefined) return undefined;
  const records = await journal.readCheckpoints(previous);
  const last = records.findLast((record) => !isMissed(record));
  return last && !isMissed(last) ? { checkpoint: last, holder: runHolder(previous) } : undefined;
}
