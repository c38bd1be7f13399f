/**
 * Where a fork leaves the run that it is a fork of. Pure.
 *
 * A fork gets the conversation as it was after an event: everything that the run has recorded before its next event.
 * If calls were open then, the fork gets the conversation from before their step. So every call in it has its result,
 * and no call of the run is made again. Text of a step that was not complete is not part of a conversation, nor is
 * steering that the model has not received.
 */
import type { LogRecord } from '../journal/records.ts';
import { Progress } from './progress.ts';

export interface ForkPoint {
  /** The last record that counts. */
  pos: number;
  /** The run as it was there: no call is open. `sincePrompt` is what its fork inherits. */
  progress: Progress;
}

/** `log` begins with the first record of the run and may lack text deltas; `seq` is -1 for a run without events. */
export function forkPoint(log: readonly LogRecord[], seq: number): ForkPoint {
  const next = log.findIndex((record) => record.seq !== null && record.seq > seq);
  return lastBoundary(next === -1 ? log : log.slice(0, next));
}

/**
 * Where to leave the run so that the model answers again: before the answer that the run has failed with, such as one
 * that was cut off. Undefined if the conversation there does not end with such an answer.
 */
export function beforeFailedAnswer(
  log: readonly LogRecord[],
  { pos, progress }: ForkPoint,
): ForkPoint | undefined {
  const last = log.findLastIndex(({ event }) => event === 'step.completed');
  const isFailed = log.at(-1)?.event === 'run.failed' && log[last] !== undefined && log[last].pos <= pos;
  if (progress.answer === undefined || !isFailed) return undefined;
  return lastBoundary(log.slice(0, last));
}

function lastBoundary(log: readonly LogRecord[]): ForkPoint {
  const progress = new Progress();
  let end = 0;
  for (const [i, record] of log.entries()) {
    progress.apply(record);
    if (progress.calls.length === 0) end = i + 1;
  }
  const counted = log.slice(0, end);
  return { pos: counted.at(-1)?.pos ?? -1, progress: Progress.replay(counted) };
}
