/**
 * The part of the Postgres driver that keeps the heads of evicted runs. What belongs to the transaction of a run or of a
 * session is a function of it.
 */
import { type Heads, headState } from '../heads.ts';
import { LISTED_RUNS } from '../listed-runs.ts';
import { type ListedRow, type RunRow, toState, toStoredRun } from '../rows.ts';
import type { StoredRun } from '../run-state.ts';
import { decisionsOfGoneRuns } from './approvals.ts';
import { ASKED, type Database, NOW, type Transaction } from './database.ts';

/** The columns of a run that its head is made of. */
export type EndedRow = ListedRow & { status: string; finished_at: number };

/** These runs have been deleted in this transaction: their heads stay. */
export function keepHeads(tx: Transaction, runs: readonly EndedRow[]): void {
  if (runs.length === 0) return;
  const column = <T>(value: (run: EndedRow) => T): T[] => runs.map(value);
  tx.send(
    `INSERT INTO run_heads (n, run_id, owner, session_id, status, created_at, updated_at, finished_at, next_seq, job_id,
                            evicted_for, state)
     SELECT * FROM unnest ($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
                           $8::bigint[], $9::integer[], $10::text[], $11::text[], $12::text[])`,
    [
      column((run) => run.n),
      column((run) => run.run_id),
      column((run) => run.owner),
      column((run) => run.session_id),
      column((run) => run.status),
      column((run) => run.created_at),
      column((run) => run.updated_at),
      column((run) => run.finished_at),
      column((run) => run.next_seq),
      column((run) => run.job_id),
      column((run) => run.evicted_for),
      column((run) => headState(toState(run))),
    ],
  );
}

/**
 * Comes after the statement that marks the runs of these sessions. That statement waits for a server that is evicting one
 * of them, so this one sees the head.
 */
export async function headsOfDeletedSessions(
  tx: Transaction,
  sessions: readonly { owner: string; session_id: string }[],
): Promise<void> {
  const gone = await tx.rows<Pick<RunRow, 'run_id'>>(
    `DELETE FROM run_heads h USING unnest ($1::text[], $2::text[]) AS s (owner, session_id)
      WHERE h.owner = s.owner AND h.session_id = s.session_id RETURNING h.run_id`,
    [sessions.map(({ owner }) => owner), sessions.map((session) => session.session_id)],
  );
  decisionsOfGoneRuns(
    tx,
    gone.map((row) => row.run_id),
  );
}

export class PostgresHeads implements Heads {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async get(runId: string): Promise<StoredRun | undefined> {
    const [row] = await this.#database.rows<ListedRow>(
      ASKED,
      `SELECT * FROM ${LISTED_RUNS} WHERE run_id = $1`,
      [runId],
    );
    return row && toStoredRun(row);
  }

  /** Heads that somebody else is deleting are passed over. */
  async sweep(keptMs: number, limit: number): Promise<number> {
    const isAny = await this.#database.rowsByClock(
      ASKED,
      `SELECT 1 FROM run_heads WHERE finished_at <= ${NOW} - $2 ORDER BY finished_at LIMIT 1`,
      [keptMs],
    );
    if (isAny.length === 0) return 0;
    return this.#database.transaction(ASKED, async (tx) => {
      const gone = await tx.rows<Pick<RunRow, 'run_id'>>(
        `DELETE FROM run_heads
          WHERE run_id = ANY (ARRAY (SELECT run_id FROM run_heads WHERE finished_at <= $1
                                      ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED))
         RETURNING run_id`,
        [tx.now - keptMs, limit],
      );
      decisionsOfGoneRuns(
        tx,
        gone.map((row) => row.run_id),
      );
      return gone.length;
    });
  }
}
