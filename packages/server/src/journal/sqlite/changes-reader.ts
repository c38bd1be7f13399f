/** Reads of what has changed, on the connection of `SqliteReader`. */
import type { ChangedRun } from '../changes.ts';
import type { Cursors } from '../cursors.ts';
import { LISTED_RUNS } from '../listed-runs.ts';
import { type ListedRow, toStoredRun } from '../rows.ts';
import type { StoredRun } from '../run-state.ts';
import type { Statements } from './statements.ts';

/** By the index that has unfinished runs only. */
const UNFINISHED = `SELECT n AS ordinal, changed AS mark FROM runs INDEXED BY runs_unfinished_by_session
  WHERE owner = ? AND finished_at IS NULL AND changed >= ? AND changed < ?`;
const FINISHED =
  'SELECT n AS ordinal, settled AS mark FROM runs WHERE owner = ? AND settled >= ? AND settled < ?';
const EVICTED =
  'SELECT n AS ordinal, changed AS mark FROM run_heads WHERE owner = ? AND changed >= ? AND changed < ?';

export class ChangesReader {
  readonly #statement: Statements;
  readonly cursors: Cursors;

  constructor(statement: Statements, cursors: Cursors) {
    this.#statement = statement;
    this.cursors = cursors;
  }

  /** The runs whose last change has a mark of at least `from` and less than `to`. */
  changed(owners: readonly string[], from: number, to: number): ChangedRun[] {
    return owners
      .flatMap((owner) =>
        [UNFINISHED, FINISHED, EVICTED].flatMap((sql) =>
          this.#statement(sql).all<ChangedRun>(owner, from, to),
        ),
      )
      .sort((a, b) => a.mark - b.mark);
  }

  runs(ordinals: readonly number[], maxChars: number): StoredRun[] {
    const runs: StoredRun[] = [];
    let chars = 0;
    for (const ordinal of ordinals) {
      const row = this.#statement(`SELECT * FROM ${LISTED_RUNS} WHERE n = ?`).get<ListedRow>(ordinal);
      if (row === undefined) continue;
      runs.push(toStoredRun(row));
      chars += row.state.length;
      if (chars >= maxChars) break;
    }
    return runs;
  }
}
