/**
 * Which runs are claimed next, and in which order (`Journal.claim`). The caller leases each run before it asks for the
 * next one: the number of leases of an owner decides whose turn it is.
 */
import { type RunRow, toState } from '../rows.ts';
import { isSuspect } from '../run-state.ts';
import type { QueueCounts } from './queue-counts.ts';
import { LIMIT, type Statements } from './statements.ts';

export class ClaimOrder {
  readonly #statement: Statements;
  readonly #queue: QueueCounts;

  constructor(statement: Statements, queue: QueueCounts) {
    this.#statement = statement;
    this.#queue = queue;
  }

  /** Owner by owner. */
  *runs(limit: number, now: number): Generator<RunRow, void> {
    const waiting = new Map<string, RunRow[]>();
    const passed = new Set<string>();
    let mayTakeSuspect: boolean | undefined;
    const admits = (row: RunRow): boolean => {
      if (!isSuspect(toState(row), false)) return true;
      const admitted = mayTakeSuspect ?? !this.#isSuspectAtWork(now);
      mayTakeSuspect = false;
      return admitted;
    };
    for (let left = limit; left > 0; ) {
      const owner = this.#queue.nextOwner(passed);
      if (owner === undefined) return;
      const rows = waiting.get(owner) ?? this.#ofOwner(owner, left, now, admits);
      waiting.set(owner, rows);
      const row = rows.shift();
      if (row === undefined) {
        passed.add(owner);
      } else {
        left -= 1;
        this.#queue.takeTurn(owner);
        yield row;
      }
    }
  }

  #ofOwner(owner: string, limit: number, now: number, admits: (row: RunRow) => boolean): RunRow[] {
    const begun = this.#begun(owner, limit, now, admits);
    return [...begun, ...this.#firstOfSessions(owner, limit - begun.length)];
  }

  /** Runs that were worked on before. Each was the first of its session when it was claimed, and still is. */
  #begun(owner: string, limit: number, now: number, admits: (row: RunRow) => boolean): RunRow[] {
    const rows = this.#statement(
      `SELECT * FROM runs INDEXED BY runs_begun
        WHERE owner = ? AND finished_at IS NULL AND epoch > 0 AND parked_until IS NULL
          AND (lease_until IS NULL OR lease_until <= ?)
        ORDER BY n`,
    ).iterate<RunRow>(owner, now);
    const chosen: RunRow[] = [];
    // Thousands may wait that were answered together, so no more of them are read than are taken.
    for (const row of rows) {
      if (admits(row)) chosen.push(row);
      if (chosen.length === limit) break;
    }
    return chosen;
  }

  #isSuspectAtWork(now: number): boolean {
    const rows = this.#statement(
      `SELECT state FROM runs INDEXED BY runs_begun
        WHERE finished_at IS NULL AND epoch > 0 AND parked_until IS NULL AND lease_until > ?`,
    ).all<Pick<RunRow, 'state'>>(now);
    return rows.some((row) => isSuspect(toState(row), true));
  }

  /** New runs. */
  #firstOfSessions(owner: string, limit: number): RunRow[] {
    return this.#statement(
      `SELECT r.* FROM runs r INDEXED BY runs_new
        WHERE r.owner = ? AND r.finished_at IS NULL AND r.epoch = 0
          AND NOT EXISTS (SELECT 1 FROM runs e INDEXED BY runs_unfinished_by_session
                           WHERE e.owner = r.owner AND e.session_id = r.session_id AND e.n < r.n
                             AND e.finished_at IS NULL)
        ORDER BY r.n ${LIMIT}`,
    ).all<RunRow>(owner, limit);
  }
}
