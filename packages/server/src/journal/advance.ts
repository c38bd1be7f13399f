/**
 * Computes how appended records change a run. Pure: a driver reads the head of the run under a lock, and writes the
 * result in the same transaction.
 */
import { isTerminalStatus } from '@talaria/protocol';
import { type Decision, decisionsOf } from './approvals.ts';
import type { Wait } from './journal.ts';
import type { LogRecord, NewRecord } from './records.ts';
import { foldRecord, isSuspect, type RunState } from './run-state.ts';

/** The fields of a run that each append changes. */
export interface RunHead {
  updatedAt: number;
  nextPos: number;
  nextSeq: number;
  state: RunState;
}

export interface Advanced extends RunHead {
  records: LogRecord[];
  /** The questions that the records answer. */
  decisions: Decision[];
  finished: boolean;
  /** Whether another run has become claimable: the next of its session, or the next suspect. */
  unblocks: boolean;
  /** Whether the run, if it is parked, waits no longer: its status says what it waits for. */
  unparks: boolean;
}

/** The first position and sequence number that are free in a log, and the time of what comes there. */
export interface Place {
  pos: number;
  seq: number;
  at: number;
}

/** The records as they are in the log, from this place on. */
export function placed(records: readonly NewRecord[], { pos, seq, at }: Place): LogRecord[] {
  let nextPos = pos;
  let nextSeq = seq;
  return records.map((record) => {
    const place = { pos: nextPos++, seq: record.public === undefined ? null : nextSeq++, at };
    return { ...record, ...place } as LogRecord;
  });
}

/** Until when a run that begins to wait is parked; null if its owner has not seen everything that was posted. */
export function parkedUntil(state: RunState, { ms, seenPostedPos }: Wait, now: number): number | null {
  return state.last_posted_pos > seenPostedPos ? null : now + ms;
}

export function advance(runId: string, head: RunHead, records: readonly NewRecord[], now: number): Advanced {
  // The times of one run never go backwards, whatever the clock does.
  const at = Math.max(now, head.updatedAt);
  const stored = placed(records, { pos: head.nextPos, seq: head.nextSeq, at });
  let { state } = head;
  const decisions: Decision[] = [];
  for (const record of stored) {
    if (isTerminalStatus(state.status)) {
      throw new Error(`A record after the end of ${runId}: ${record.event}`);
    }
    decisions.push(...decisionsOf(runId, state, record));
    state = foldRecord(state, record);
  }
  const finished = isTerminalStatus(state.status);
  const isCleared = isSuspect(head.state, true) && !isSuspect(state, true);
  return {
    records: stored,
    decisions,
    updatedAt: stored.length === 0 ? head.updatedAt : at,
    nextPos: head.nextPos + stored.length,
    nextSeq: head.nextSeq + stored.filter(({ seq }) => seq !== null).length,
    state,
    finished,
    unblocks: stored.length > 0 && (finished || isCleared),
    unparks: state.status !== head.state.status,
  };
}
