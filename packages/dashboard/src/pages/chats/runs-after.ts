/**
 * The runs to show after the entries of a session: those at work, and those that have completed since the messages were
 * asked for. Messages and runs come separately, in any order; meanwhile no turn may be missing or shown twice.
 */
import { isTerminalStatus, type Run, type SessionMessage } from '@talaria/client';
import { isLost } from './entries.ts';

export interface Told {
  messages: readonly SessionMessage[];
  /** The runs that were over when the messages were asked for: whatever these added is among them. */
  ended: ReadonlySet<string>;
}

/** `seen` are the runs that were at work since the page was opened: older ones are not shown again. */
export function runsAfter(told: Told | undefined, runs: readonly Run[], seen: ReadonlySet<string>): Run[] {
  const added = new Set(told?.messages.map(({ run_id }) => run_id));
  return runs.filter((run) => {
    if (added.has(run.run_id)) return false;
    if (!isTerminalStatus(run.status)) return true;
    // A lost one is an entry, once there are entries.
    if (told !== undefined && isLost(run)) return false;
    return seen.has(run.run_id) && told?.ended.has(run.run_id) !== true;
  });
}
