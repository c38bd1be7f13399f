/**
 * The marks of changes (`../changes.ts`). They grow in memory; the database only knows up to where they are reserved.
 * The next life of the process begins there: a mark is never given twice, also if the run that had it is gone. The marks
 * of an undone transaction are not used.
 */
import type { Statements } from './statements.ts';

const RESERVED_AT_ONCE = 2 ** 24;

export class ChangeMarks {
  readonly #statement: Statements;
  #next: number;
  #reserved: number;

  constructor(statement: Statements) {
    this.#statement = statement;
    this.#reserved = this.#reserveMore();
    this.#next = this.#reserved - RESERVED_AT_ONCE;
  }

  /** The mark that the next change will get. */
  get next(): number {
    return this.#next;
  }

  take(): number {
    return this.#next++;
  }

  /** Outside of a transaction, which might be undone. There is always room for far more than one transaction. */
  reserve(): void {
    if (this.#reserved - this.#next < RESERVED_AT_ONCE / 2) this.#reserved = this.#reserveMore();
  }

  #reserveMore(): number {
    const row = this.#statement(
      'UPDATE change_marks SET reserved = reserved + ? WHERE id = 0 RETURNING reserved',
    ).get<{ reserved: number }>(RESERVED_AT_ONCE);
    return row!.reserved;
  }
}
