import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Prepares each statement of a connection once. */
export function statementsOf(db: DatabaseSync): (sql: string) => StatementSync {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      prepared.set(sql, statement);
    }
    return statement;
  };
}
