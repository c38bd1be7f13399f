/**
 * Changes to runs, collected during a transaction and written together: one statement for all records, one for all
 * heads, and the effects of a run's end on its key, its job and its webhook. The rows are locked when they are read,
 * always in the same order, so no two transactions wait for each other.
 */
import { type Advanced, advance, type RunHead } from '../advance.ts';
import type { Decision } from '../approvals.ts';
import { isAnnounced } from '../outbox.ts';
import type { NewRecord } from '../records.ts';
import { type RunRow, toState } from '../rows.ts';
import { insertDecisions } from './approvals.ts';
import type { Statement, Transaction } from './database.ts';
import { keysOfEndedRuns } from './idempotency-keys.ts';
import { jobsOfEndedRuns } from './jobs.ts';
import { announce } from './outbox.ts';

export interface Appended {
  runId: string;
  records: Advanced['records'];
  unblocks: boolean;
  /** Whether a message for a webhook is due, if the run has one. */
  announced: boolean;
}

interface LockedRun {
  row: RunRow;
  head: RunHead;
  dirty: boolean;
}

/** Reads and locks the rows of runs. */
export function lockRuns(runIds: readonly string[]): Statement {
  const sql = 'SELECT * FROM runs WHERE run_id = ANY ($1::text[]) ORDER BY n FOR UPDATE';
  return { sql, values: [[...new Set(runIds)]] };
}

export class RunBatch {
  readonly #runs = new Map<string, LockedRun>();
  readonly #changed: { row: RunRow; record: Advanced['records'][number] }[] = [];
  readonly #decided: { owner: string; decision: Decision }[] = [];

  /** A row that this transaction has locked or made. */
  add(row: RunRow): void {
    const { updated_at: updatedAt, next_pos: nextPos, next_seq: nextSeq } = row;
    this.#runs.set(row.run_id, {
      row,
      head: { updatedAt, nextPos, nextSeq, state: toState(row) },
      dirty: false,
    });
  }

  /** The run as this transaction has changed it so far. */
  get(runId: string): { row: RunRow; head: RunHead } | undefined {
    return this.#runs.get(runId);
  }

  append(runId: string, records: readonly NewRecord[], now: number): Appended {
    const run = this.#find(runId);
    const advanced = advance(runId, run.head, records, now);
    const { records: stored, decisions, finished, unblocks, unparks, ...head } = advanced;
    const unparked = unparks && run.row.parked_until !== null && run.row.lease_until === null;
    run.head = head;
    for (const record of stored) this.#changed.push({ row: run.row, record });
    for (const decision of decisions) this.#decided.push({ owner: run.row.owner, decision });
    if (stored.length > 0) run.dirty = true;
    if (unparks) run.row = { ...run.row, parked_until: null };
    if (finished) {
      run.row = { ...run.row, finished_at: head.updatedAt, lease_owner: null, lease_until: null };
    }
    const announced = stored.some(({ event }) => isAnnounced(event));
    return { runId, records: stored, unblocks: unblocks || unparked, announced };
  }

  setLease(runId: string, lease: Pick<RunRow, 'epoch' | 'lease_owner' | 'lease_until'>): void {
    const run = this.#find(runId);
    run.row = { ...run.row, ...lease };
    run.dirty = true;
  }

  /** Null ends the wait. */
  park(runId: string, until: number | null): void {
    const run = this.#find(runId);
    run.row = { ...run.row, parked_until: until };
    run.dirty = true;
  }

  /** Sends everything; it is stored when the transaction is committed. */
  flush(tx: Transaction): void {
    const records = this.#changed;
    if (records.length > 0) {
      tx.send(
        `INSERT INTO records (run, pos, seq, event, at, public, private)
         SELECT * FROM unnest ($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::bigint[], $6::text[], $7::text[])`,
        [
          records.map(({ row }) => row.n),
          records.map(({ record }) => record.pos),
          records.map(({ record }) => record.seq),
          records.map(({ record }) => record.event),
          records.map(({ record }) => record.at),
          records.map(({ record }) => json(record.public)),
          records.map(({ record }) => json(record.private)),
        ],
      );
    }
    const runs = [...this.#runs.values()].filter(({ dirty }) => dirty);
    if (runs.length === 0) return;
    tx.send(
      `UPDATE runs r
          SET updated_at = c.updated_at, next_pos = c.next_pos, next_seq = c.next_seq, status = c.status,
              state = c.state, finished_at = c.finished_at, epoch = c.epoch, lease_owner = c.lease_owner,
              lease_until = c.lease_until, parked_until = c.parked_until
         FROM unnest ($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::text[], $7::bigint[],
                      $8::integer[], $9::text[], $10::bigint[], $11::bigint[])
           AS c (n, updated_at, next_pos, next_seq, status, state, finished_at, epoch, lease_owner, lease_until,
                 parked_until)
        WHERE r.n = c.n`,
      [
        runs.map(({ row }) => row.n),
        runs.map(({ head }) => head.updatedAt),
        runs.map(({ head }) => head.nextPos),
        runs.map(({ head }) => head.nextSeq),
        runs.map(({ head }) => head.state.status),
        runs.map(({ head }) => JSON.stringify(head.state)),
        runs.map(({ row }) => row.finished_at),
        runs.map(({ row }) => row.epoch),
        runs.map(({ row }) => row.lease_owner),
        runs.map(({ row }) => row.lease_until),
        runs.map(({ row }) => row.parked_until),
      ],
    );
    insertDecisions(tx, this.#decided);
    for (const { row, record } of records) announce(tx, row, record);
    const ended = runs.filter(({ row }) => row.finished_at !== null);
    if (ended.length === 0) return;
    keysOfEndedRuns(
      tx,
      ended.map(({ row }) => row.run_id),
      tx.now,
    );
    jobsOfEndedRuns(
      tx,
      ended.map(({ row, head }) => ({ runId: row.run_id, state: head.state })),
    );
  }

  /** The row as it will be when the transaction is committed. */
  rowAfter(runId: string): RunRow {
    const { row, head } = this.#find(runId);
    return {
      ...row,
      updated_at: head.updatedAt,
      next_pos: head.nextPos,
      next_seq: head.nextSeq,
      state: JSON.stringify(head.state),
    };
  }

  #find(runId: string): LockedRun {
    const run = this.#runs.get(runId);
    if (run === undefined) throw new Error(`The run ${runId} is not part of this transaction`);
    return run;
  }
}

function json(payload: unknown): string | null {
  return payload === undefined ? null : JSON.stringify(payload);
}
