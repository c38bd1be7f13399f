/**
 * What appending records makes of a run. Pure: a driver reads the head of the run under a lock, and writes what comes
 * back in the same transaction.
 */
import { isTerminalStatus } from '@talaria/protocol';
import type { LogRecord, NewRecord } from './records.ts';
import { foldRecord, isSuspect, type RunState } from './run-state.ts';

/** What changes of a run with each append. */
export interface RunHead {
  updatedAt: number;
  nextPos: number;
  nextSeq: number;
  state: RunState;
}

export interface Advanced extends RunHead {
  records: LogRecord[];
  finished: boolean;
  /**
   * Whether a run may be claimed now that could not be before: the next of its session, the next suspect, or itself, since
   * its client has sent what it waited for.
   */
  unblocks: boolean;
  /** Whether it has nothing to be parked for any more. */
  unparks: boolean;
}

export function advance(runId: string, head: RunHead, records: readonly NewRecord[], now: number): Advanced {
  // Also the times of one run never run backwards, whatever the clock does.
  const at = Math.max(now, head.updatedAt);
  let { nextPos, nextSeq, state } = head;
  const stored: LogRecord[] = [];
  for (const record of records) {
    if (isTerminalStatus(state.status)) {
      throw new Error(`A record after the end of ${runId}: ${record.event}`);
    }
    const full = {
      ...record,
      pos: nextPos++,
      seq: record.public === undefined ? null : nextSeq++,
      at,
    } as LogRecord;
    state = foldRecord(state, full);
    stored.push(full);
  }
  const finished = isTerminalStatus(state.status);
  const unparks = head.state.pending_calls.length > 0 && state.pending_calls.length === 0;
  const isCleared = isSuspect(head.state, true) && !isSuspect(state, true);
  return {
    records: stored,
    updatedAt: stored.length === 0 ? head.updatedAt : at,
    nextPos,
    nextSeq,
    state,
    finished,
    unblocks: stored.length > 0 && (finished || isCleared || unparks),
    unparks: finished || unparks,
  };
}
