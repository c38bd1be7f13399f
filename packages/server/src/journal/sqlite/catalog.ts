/** What a database consists of, as its catalog has it, and how its values are read and written as text (`Row`). */
import type { DatabaseSync } from 'node:sqlite';
import type { Kind, StoreShape, TableShape } from '../moving/store-ends.ts';
import { statementsOf } from './statements.ts';

const KINDS: Readonly<Record<string, Kind>> = { INTEGER: 'integer', TEXT: 'text', BLOB: 'bytes' };

export function readShape(db: DatabaseSync): StoreShape {
  const rows = statementsOf(db)(
    `SELECT t.name AS "table", t.sql, c.name AS "column", c.type, c.pk
       FROM main.sqlite_schema t, pragma_table_info(t.name, 'main') c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      ORDER BY t.name, c.cid`,
  ).all<{ table: string; sql: string; column: string; type: string; pk: number }>();
  const tables = new Map<string, TableShape>();
  const counters = new Set<string>();
  for (const [name, columns] of Map.groupBy(rows, ({ table }) => table)) {
    const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    tables.set(name, {
      columns: new Map(columns.map(({ column, type }) => [column, KINDS[type] ?? 'other'])),
      key: key.map(({ column }) => column),
    });
    if (/\bAUTOINCREMENT\b/.test(columns[0]!.sql)) counters.add(`${name}.${key[0]!.column}`);
  }
  return { tables, counters };
}

/** The last numbers given out. */
export function readCounters(db: DatabaseSync, { counters }: StoreShape): Map<string, string> {
  const last = new Map<string, string>();
  for (const counter of counters) {
    const [table] = counter.split('.');
    const row = db.prepare('SELECT CAST(seq AS TEXT) AS seq FROM sqlite_sequence WHERE name = ?').get(table!);
    if (row !== undefined && row.seq !== '0') last.set(counter, row.seq as string);
  }
  return last;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** An expression that reads the column as text. A value that is not a boolean here is not one for the target either. */
export function readExpression(column: string, kind: Kind): string {
  const name = quoted(column);
  if (kind === 'integer') return `CAST(${name} AS TEXT)`;
  if (kind === 'boolean')
    return `CASE ${name} WHEN 0 THEN 'false' WHEN 1 THEN 'true' ELSE CAST(${name} AS TEXT) END`;
  if (kind === 'bytes') return `CASE WHEN ${name} IS NOT NULL THEN lower(hex(${name})) END`;
  return name;
}

/** The opposite: an expression for the value of a parameter that is text. */
export function writeExpression(kind: Kind): string {
  if (kind === 'integer') return 'CAST(? AS INTEGER)';
  if (kind === 'boolean') return "? = 'true'";
  if (kind === 'bytes') return 'unhex(?)';
  return '?';
}
