/** Rows of the database and the domain types they stand for. */
import type { CheckpointRecord } from './checkpoints.ts';
import type { LogRecord } from './records.ts';
import { INITIAL_STATE, type RunState, type StoredRun } from './run-state.ts';

export interface RunRow {
  n: number;
  run_id: string;
  owner: string;
  session_id: string;
  /** That of the state. */
  status: string;
  created_at: number;
  updated_at: number;
  finished_at: number | null;
  next_pos: number;
  next_seq: number;
  epoch: number;
  lease_owner: string | null;
  lease_until: number | null;
  /** Until then the run waits for somebody outside, and nobody claims it. */
  parked_until: number | null;
  job_id: string | null;
  retention_ms: number | null;
  /** SQLite has no booleans. */
  kept: boolean | number;
  expires_at: number | null;
  /** Why it goes before its time (kept-runs.ts). */
  evicted_for: 'room' | null;
  state: string;
}

/** The columns that lists read of a run or of a head (`listed-runs.ts`). */
export type ListedRow = Pick<
  RunRow,
  | 'n'
  | 'run_id'
  | 'owner'
  | 'session_id'
  | 'created_at'
  | 'updated_at'
  | 'next_seq'
  | 'job_id'
  | 'kept'
  | 'expires_at'
  | 'evicted_for'
  | 'state'
> & {
  /** Absent in a row that only a whole run has. */
  evicted?: boolean | number;
};

export interface RecordRow {
  pos: number;
  seq: number | null;
  event: string;
  at: number;
  public: string | null;
  private: string | null;
}

export function toStoredRun(row: ListedRow): StoredRun {
  return {
    runId: row.run_id,
    owner: row.owner,
    sessionId: row.session_id,
    ordinal: row.n,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    nextSeq: row.next_seq,
    jobId: row.job_id,
    kept: Boolean(row.kept),
    expiresAt: row.expires_at,
    evicted: Boolean(row.evicted),
    evictedFor: row.evicted_for,
    state: toState(row),
  };
}

/** A field that a later version added is missing in states that an earlier one stored; its value is unknown. */
export function toState(row: Pick<RunRow, 'state'>): RunState {
  return { ...INITIAL_STATE, steps: null, ...(JSON.parse(row.state) as Partial<RunState>) };
}

export function toCheckpoints(records: readonly LogRecord[]): CheckpointRecord[] {
  return records.flatMap((record) => (record.event === 'workspace.checkpointed' ? [record.private] : []));
}

export function toLogRecord(row: RecordRow): LogRecord {
  return {
    pos: row.pos,
    seq: row.seq,
    at: row.at,
    event: row.event,
    ...(row.public === null ? {} : { public: JSON.parse(row.public) }),
    ...(row.private === null ? {} : { private: JSON.parse(row.private) }),
  } as LogRecord;
}
