/**
 * The statements of a connection. Each is prepared once. A caller names the type of the rows it selects; this is the one
 * place where the database's result is assumed to have that type.
 */
import type { DatabaseSync, SQLInputValue, StatementResultingChanges, StatementSync } from 'node:sqlite';

export type Statements = (sql: string) => Statement;

/**
 * For statements that every run needs. SQLite compiles a statement with a bare `LIMIT ?` again at every call, because the
 * number may change its plan; it does not look into a sum.
 */
export const LIMIT = 'LIMIT ? + 0';

export function statementsOf(db: DatabaseSync): Statements {
  const prepared = new Map<string, Statement>();
  return (sql) => {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = new Statement(db.prepare(sql));
      prepared.set(sql, statement);
    }
    return statement;
  };
}

export class Statement {
  readonly #prepared: StatementSync;

  constructor(prepared: StatementSync) {
    this.#prepared = prepared;
  }

  /** From now on its rows are arrays of values, in the order of the columns. */
  asArrays(): this {
    this.#prepared.setReturnArrays(true);
    return this;
  }

  run(...values: SQLInputValue[]): StatementResultingChanges {
    return this.#prepared.run(...values);
  }

  get<Row>(...values: SQLInputValue[]): Row | undefined {
    return this.#prepared.get(...values) as Row | undefined;
  }

  all<Row>(...values: SQLInputValue[]): Row[] {
    return this.#prepared.all(...values) as Row[];
  }

  iterate<Row>(...values: SQLInputValue[]): Iterable<Row> {
    return this.#prepared.iterate(...values) as Iterable<Row>;
  }
}
