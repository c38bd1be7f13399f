/** The part of the SQLite driver that keeps the heads of evicted runs. */
import { type Heads, headState } from '../heads.ts';
import { LISTED_RUNS } from '../listed-runs.ts';
import { type ListedRow, type RunRow, toState, toStoredRun } from '../rows.ts';
import type { StoredRun } from '../run-state.ts';
import type { ApprovalsWriter } from './approvals-writer.ts';
import type { Statements } from './statements.ts';
import type { WriterClient } from './writer-client.ts';

type HeadId = Pick<RunRow, 'run_id'>;

/** `sweep` is called by name, as `heads.sweep`; the other operations are part of those of other writers. */
export class HeadsWriter {
  readonly #statement: Statements;
  readonly #approvals: ApprovalsWriter;

  constructor(statement: Statements, approvals: ApprovalsWriter) {
    this.#statement = statement;
    this.#approvals = approvals;
  }

  /** The run, which has ended, becomes its head in the same transaction; `mark` is that of the change. */
  keep(run: RunRow, mark: number): void {
    const state = toState(run);
    this.#statement(
      `INSERT INTO run_heads (n, run_id, owner, session_id, status, created_at, updated_at, finished_at, next_seq, job_id,
                              evicted_for, changed, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      run.n,
      run.run_id,
      run.owner,
      run.session_id,
      state.status,
      run.created_at,
      run.updated_at,
      run.finished_at,
      run.next_seq,
      run.job_id,
      run.evicted_for,
      mark,
      headState(state),
    );
  }

  sweep(keptMs: number, limit: number, now: number): number {
    const due = this.#statement(
      'SELECT run_id FROM run_heads WHERE finished_at <= ? ORDER BY finished_at LIMIT ?',
    ).all<HeadId>(now - keptMs, limit);
    this.#remove(due);
    return due.length;
  }

  sessionDeleted(owner: string, sessionId: string): void {
    const heads = this.#statement('SELECT run_id FROM run_heads WHERE owner = ? AND session_id = ?');
    this.#remove(heads.all<HeadId>(owner, sessionId));
  }

  #remove(heads: readonly HeadId[]): void {
    for (const { run_id: runId } of heads) {
      this.#approvals.runGone(runId);
      this.#statement('DELETE FROM run_heads WHERE run_id = ?').run(runId);
    }
  }
}

export class HeadsReader {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  get(runId: string): StoredRun | undefined {
    const row = this.#statement(`SELECT * FROM ${LISTED_RUNS} WHERE run_id = ?`).get<ListedRow>(runId);
    return row && toStoredRun(row);
  }
}

export class SqliteHeads implements Heads {
  readonly #writer: WriterClient;
  readonly #reader: HeadsReader;

  constructor(writer: WriterClient, reader: HeadsReader) {
    this.#writer = writer;
    this.#reader = reader;
  }

  async get(runId: string): Promise<StoredRun | undefined> {
    return this.#reader.get(runId);
  }

  sweep(keptMs: number, limit: number): Promise<number> {
    return this.#writer.write.heads.sweep(keptMs, limit);
  }
}
