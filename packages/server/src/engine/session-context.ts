/** Which earlier messages a run gets from the session that it names. */
import { Progress } from '../agent/progress.ts';
import type { Journal } from '../journal/journal.ts';
import type { PrivatePayloads } from '../journal/records.ts';
import type { StoredRun } from '../journal/run-state.ts';
import { contextReach, type ReachLimits } from './context-reach.ts';

/** Whether the run gets its context from its session, but has none: it has not looked yet, or has found nothing. */
export function lacksContext({ request, context, contextRange }: Progress): boolean {
  const asks = request?.session_named === true && request.history === undefined;
  return asks && context === undefined && contextRange === undefined;
}

/** The context that the session has for the run now; undefined if there is none. */
export async function findContext(
  journal: Pick<Journal, 'sessions' | 'previousTurn' | 'readLog'>,
  run: StoredRun,
  limits: ReachLimits,
): Promise<PrivatePayloads['run.context'] | undefined> {
  const session = await journal.sessions.get(run.owner, run.sessionId);
  if (session !== undefined && session.nextPos > session.contextFrom) {
    const { range, skipped } = await contextReach(
      { from: session.contextFrom, to: session.nextPos },
      limits,
      (part) => journal.sessions.messages(run.owner, run.sessionId, part),
    );
    return { session: range, skipped };
  }
  // A run without a named session left no transcript; while it is kept, another run can continue it by its id.
  const previous = await journal.previousTurn(run);
  if (previous === undefined) return undefined;
  return { messages: Progress.replay(await journal.readLog(previous, -1)).transcript() };
}
