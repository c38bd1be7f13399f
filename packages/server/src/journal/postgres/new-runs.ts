/**
 * New runs, collected during a transaction and written together: one statement for their named sessions, and one for all
 * of them and their first records. Whatever looks at these tables later in the transaction has to find them, so it calls
 * `flush` before.
 */
import type { NewRun } from '../journal.ts';
import { foldRecord, INITIAL_STATE } from '../run-state.ts';
import type { Transaction } from './database.ts';
import { useSessions } from './sessions.ts';

interface NewRow {
  run: NewRun;
  sessionId: string;
}

export class NewRuns {
  #rows: NewRow[] = [];

  /** `sessionId` is the session that the run works in, which may not be the one that was asked for. */
  add(run: NewRun, sessionId: string): void {
    this.#rows.push({ run, sessionId });
  }

  flush(tx: Transaction): void {
    const rows = this.#rows;
    if (rows.length === 0) return;
    this.#rows = [];
    const states = rows.map(({ run }) =>
      foldRecord(INITIAL_STATE, {
        event: 'run.accepted',
        private: run.request,
        pos: 0,
        seq: null,
        at: tx.now,
      }),
    );
    useSessions(
      tx,
      rows
        .filter(({ run }) => run.request.session_named)
        .map(({ run: { owner, runId }, sessionId }) => ({ owner, sessionId, runId })),
    );
    // In the order in which they came: a run's number is its place in lists and in the queue.
    tx.send(
      `WITH asked AS (
         SELECT * FROM unnest ($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                                 $9::bigint[])
           WITH ORDINALITY AS a (run_id, owner, session_id, status, state, job_id, request, retention_ms, place)),
       made AS (
         INSERT INTO runs (run_id, owner, session_id, status, created_at, updated_at, next_pos, next_seq, epoch, state, job_id,
                           retention_ms)
         SELECT run_id, owner, session_id, status, $1, $1, 1, 0, 0, state, job_id, retention_ms FROM asked ORDER BY place
         RETURNING n, run_id)
       INSERT INTO records (run, pos, seq, event, at, private)
       SELECT n, 0, NULL, 'run.accepted', $1, request FROM made JOIN asked USING (run_id)`,
      [
        tx.now,
        rows.map(({ run }) => run.runId),
        rows.map(({ run }) => run.owner),
        rows.map(({ sessionId }) => sessionId),
        states.map(({ status }) => status),
        states.map((state) => JSON.stringify(state)),
        rows.map(({ run }) => run.job?.jobId ?? null),
        rows.map(({ run }) => JSON.stringify(run.request)),
        rows.map(({ run }) => run.retentionMs ?? null),
      ],
    );
  }
}
