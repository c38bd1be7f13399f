/**
 * What a conversation shows, in the order in which it was asked: the turns of the transcript, and between them the runs
 * that failed or were stopped. Those add nothing to the transcript, but somebody asked for them, and may ask again.
 */
import { isTerminalStatus, type Run } from '@talaria/client';
import type { Turn } from './turns.ts';

export type Entry = { kind: 'turn'; turn: Turn; at: number } | { kind: 'lost'; run: Run; at: number };

interface Conversation {
  turns: readonly Turn[];
  /** The runs of the session, as far as they are known. */
  runs: readonly Run[];
  /** Whether there are turns before the first of these. */
  isCut: boolean;
}

export function entriesOf({ turns, runs, isCut }: Conversation): Entry[] {
  const created = new Map(runs.map((run) => [run.run_id, run.created_at]));
  const told = turns.map((turn): Entry => {
    // A turn joins the transcript when its run ends; another may have been asked for and lost by then.
    return { kind: 'turn', turn, at: created.get(turn.runId) ?? turn.at };
  });
  const first = isCut ? (told[0]?.at ?? 0) : 0;
  const lost = runs
    .filter((run) => isLost(run) && run.created_at >= first)
    .map((run): Entry => ({ kind: 'lost', run, at: run.created_at }));
  return [...told, ...lost].sort((a, b) => a.at - b.at);
}

export function isLost({ status }: Run): boolean {
  return isTerminalStatus(status) && status !== 'completed';
}
