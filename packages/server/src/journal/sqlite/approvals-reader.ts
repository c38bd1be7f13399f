/** Reads of answered questions and of grants, on the connection of `SqliteReader`. */
import { type DecisionRow, type GrantRow, toDecision, toGrant } from '../approval-rows.ts';
import type { DecisionFilter, DecisionPage, GrantPage } from '../approvals.ts';
import type { Cursors } from '../cursors.ts';
import { LISTED_RUNS } from '../listed-runs.ts';
import { type ListedRow, toStoredRun } from '../rows.ts';
import type { Statements } from './statements.ts';

export class ApprovalsReader {
  readonly #statement: Statements;
  readonly #cursors: { decisions: Cursors; grants: Cursors };

  constructor(statement: Statements, cursors: { decisions: Cursors; grants: Cursors }) {
    this.#statement = statement;
    this.#cursors = cursors;
  }

  decisions(filter: DecisionFilter): DecisionPage {
    const { rows, next } = this.#page<DecisionRow>('decisions', filter);
    const decisions = rows.flatMap((row) => {
      const run = this.#headOf(row.run_id);
      // Deleted between the two reads.
      return run === undefined ? [] : [{ ...toDecision(row), run: toStoredRun(run) }];
    });
    return { decisions, next };
  }

  grants(filter: DecisionFilter): GrantPage {
    const { rows, next } = this.#page<GrantRow>('grants', filter);
    return { grants: rows.map(toGrant), next };
  }

  /** The grants of this owner that are permanent or belong to this session. */
  granted(owner: string, sessionId: string): GrantRow[] {
    return this.#statement("SELECT * FROM grants WHERE owner = ? AND session_id IN ('', ?)").all<GrantRow>(
      owner,
      sessionId,
    );
  }

  #page<Row extends { n: number }>(
    table: 'decisions' | 'grants',
    { owner, after, limit }: DecisionFilter,
  ): { rows: Row[]; next?: string } {
    const before = after === undefined ? undefined : this.#cursors[table].open(owner, after);
    const rows = this.#statement(
      `SELECT * FROM ${table} WHERE owner = ? AND n < ? ORDER BY n DESC LIMIT ?`,
    ).all<Row>(owner, before ?? Number.MAX_SAFE_INTEGER, limit + 1);
    if (rows.length <= limit) return { rows };
    rows.pop();
    return { rows, next: this.#cursors[table].seal(owner, rows.at(-1)!.n) };
  }

  /** A list shows no answers of runs, and they may be long. */
  #headOf(runId: string): ListedRow | undefined {
    return this.#statement(
      `SELECT n, run_id, owner, session_id, created_at, updated_at, next_seq, job_id, kept, expires_at,
              evicted_for, evicted,
              json_remove(state, '$.output') AS state
         FROM ${LISTED_RUNS} WHERE run_id = ?`,
    ).get<ListedRow>(runId);
  }
}
