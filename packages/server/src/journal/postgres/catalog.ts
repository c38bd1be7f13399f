/** What a database consists of, as its catalog has it, and how its values are read and written as text (`Row`). */
import type { Kind, StoreShape, TableShape } from '../moving/store-ends.ts';
import type { Transaction } from './database.ts';

type Connection = Pick<Transaction, 'rows'>;

const KINDS: Readonly<Record<string, Kind>> = {
  bigint: 'integer',
  integer: 'integer',
  boolean: 'boolean',
  text: 'text',
  bytea: 'bytes',
};

export interface PostgresShape extends StoreShape {
  /** The type of a column, by `table.column`. */
  readonly types: ReadonlyMap<string, string>;
}

export async function readShape(connection: Connection): Promise<PostgresShape> {
  const rows = await connection.rows<{ table: string; column: string; type: string; place: number | null }>(
    `SELECT t.relname AS "table", c.attname AS "column", format_type(c.atttypid, c.atttypmod) AS type,
            array_position(k.indkey::int2[], c.attnum) AS place
       FROM pg_class t
       JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
       LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary
      WHERE t.relkind IN ('r', 'p') AND t.relnamespace = current_schema()::regnamespace
      ORDER BY t.relname, c.attnum`,
  );
  const tables = new Map<string, TableShape>();
  for (const [name, columns] of Map.groupBy(rows, ({ table }) => table)) {
    const key = columns.filter(({ place }) => place !== null).sort((a, b) => a.place! - b.place!);
    tables.set(name, {
      columns: new Map(columns.map(({ column, type }) => [column, KINDS[type] ?? 'other'])),
      key: key.map(({ column }) => column),
    });
  }
  const sequences = await readSequences(connection);
  return {
    tables,
    types: new Map(rows.map(({ table, column, type }) => [`${table}.${column}`, type])),
    counters: new Set(sequences.map(({ counter }) => counter)),
  };
}

export interface Sequence {
  /** `table.column` for that of a column. */
  counter: string;
  sequence: string;
  /** The last number given out. */
  last: string | null;
}

export function readSequences(connection: Connection): Promise<Sequence[]> {
  return connection.rows<Sequence>(
    `SELECT coalesce(t.relname || '.' || c.attname, s.relname) AS counter, s.relname AS sequence,
            q.last_value::text AS last
       FROM pg_class s
       JOIN pg_sequences q ON q.schemaname = current_schema() AND q.sequencename = s.relname
       LEFT JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass AND d.refobjsubid > 0
       LEFT JOIN pg_class t ON t.oid = d.refobjid
       LEFT JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum = d.refobjsubid
      WHERE s.relkind = 'S' AND s.relnamespace = current_schema()::regnamespace`,
  );
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** An expression that reads the column as text. */
export function readExpression(column: string, kind: Kind): string {
  if (kind === 'text') return column;
  return kind === 'bytes' ? `encode(${column}, 'hex')` : `${column}::text`;
}
