/** Stores with rows in every table, not written by a server, for tests of a move. */
import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import pg from 'pg';
import { anyText } from '../../../../../../test/support/any-text.ts';
import { SESSION_FLAGS } from '../../sessions.ts';
import { quoted, readShape } from '../../sqlite/catalog.ts';
import { newStore } from '../../sqlite/testing/temp-journal.ts';
import { isMoved } from '../moved-tables.ts';

type Value = number | bigint | string | Uint8Array | null;

/** Columns that other code reads: their values mean something. */
const MEANT: Readonly<Record<string, fc.Arbitrary<Value>>> = {
  'webhooks.url': fc.constantFrom('https://a.example/hook', 'http://b.example:8080/?x=1'),
};

const BOOLEANS: readonly string[] = [
  'session_gone',
  'kept',
  'begins_context',
  'ended',
  'evicted',
  'leased',
  ...SESSION_FLAGS,
];
/** `integer` in Postgres, of 32 bits; the others are `bigint`. */
const SMALL =
  /^(next_pos|next_seq|epoch|pos|seq|after_seq|turns?|context_(from|to)|delivered|attempts|version|times|completed|tool_calls)$/;

const AWKWARD = [
  '',
  ' ',
  '\n',
  "it's",
  '"quoted"',
  '\\',
  '\\u0000',
  '{"a":"\\u0000\\ud800"}',
  '\u2028\uFEFF\uFFFD',
  '😀 Ж ü',
  'null',
  '\\x00',
  '%s $1 ? :a',
  '\t\r\x01\x7f',
];

const text = fc.oneof(
  fc.constantFrom(...AWKWARD),
  anyText({ maxLength: 20 }).map((value) => value.toWellFormed().replaceAll('\0', '')),
);

/** A SQLite store with `rows` rows in each table, of any values its columns can have. */
export function fillStore(path: string, { rows, seed }: { rows: number; seed: number }): void {
  writeFileSync(path, newStore());
  using db = new DatabaseSync(path);
  // No two stores have the same keys, by which a move tells them apart.
  db.exec('BEGIN; UPDATE keys SET value = randomblob(32)');
  for (const [table, { columns, key }] of readShape(db).tables) {
    if (!isMoved(table)) continue;
    const required = requiredColumns(db, table);
    const row = fc.tuple(
      ...[...columns].map(([column, kind]) => {
        const meant = MEANT[`${table}.${column}`] ?? anyValue(column, kind);
        return required.has(column) || key.includes(column) ? meant : fc.option(meant);
      }),
    );
    const names = [...columns.keys()].map(quoted).join(', ');
    const insert = db.prepare(
      `INSERT OR IGNORE INTO ${quoted(table)} (${names}) VALUES (${[...columns].map(() => '?').join(', ')})`,
    );
    const samples = fc.sample(row, { numRuns: rows, seed: seed + table.length });
    for (const values of samples) insert.run(...values);
  }
  // Leases end on the way; everything else arrives unchanged.
  db.exec('UPDATE runs SET lease_owner = NULL, lease_until = NULL; UPDATE webhook_messages SET leased = 0');
  db.exec('COMMIT');
}

function anyValue(column: string, kind: string): fc.Arbitrary<Value> {
  if (kind === 'bytes') return fc.uint8Array({ minLength: 0, maxLength: 40 });
  if (kind === 'text') return text;
  if (BOOLEANS.includes(column)) return fc.constantFrom(0, 1);
  if (SMALL.test(column)) return fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  if (column === 'n' || column === 'place') return fc.bigInt({ min: 1n, max: 2n ** 62n });
  return fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.constant(9007199254740993n));
}

function requiredColumns(db: DatabaseSync, table: string): Set<string> {
  const columns = db.prepare('SELECT name, "notnull" FROM pragma_table_info(?)').all(table);
  return new Set(columns.filter((column) => column.notnull === 1).map(({ name }) => name as string));
}

export type Dump = Record<string, unknown[][]>;

/** All data of a SQLite store, read in another way than a move does. */
export function dumpSqlite(path: string): Dump {
  using db = new DatabaseSync(path, { readOnly: true });
  const dump: Dump = {};
  for (const [table, columns] of movedColumns(db)) {
    const statement = db.prepare(
      `SELECT ${[...columns.keys()].map(quoted).join(', ')} FROM ${quoted(table)}`,
    );
    statement.setReadBigInts(true);
    dump[table] = sorted(statement.all().map((row) => Object.values(row).map(comparable)));
  }
  return dump;
}

/** The same for a Postgres store, with the tables and columns that SQLite has. */
export async function dumpPostgres(url: string, like: string): Promise<Dump> {
  using db = new DatabaseSync(like, { readOnly: true });
  const client = new pg.Client(url);
  await client.connect();
  const dump: Dump = {};
  for (const [table, columns] of movedColumns(db)) {
    const { rows } = await client.query({
      text: `SELECT ${[...columns.keys()].map(quoted).join(', ')} FROM ${quoted(table)}`,
      rowMode: 'array',
    });
    const kinds = [...columns.values()];
    dump[table] = sorted(
      rows.map((row: unknown[]) =>
        row.map((value, place) =>
          comparable(kinds[place] === 'integer' && typeof value === 'string' ? BigInt(value) : value),
        ),
      ),
    );
  }
  await client.end();
  return dump;
}

function movedColumns(db: DatabaseSync): [table: string, columns: Map<string, string>][] {
  return [...readShape(db).tables]
    .filter(([table]) => isMoved(table))
    .map(([table, { columns }]) => [table, new Map([...columns].filter(([name]) => isMoved(table, name)))]);
}

function comparable(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? '1n' : '0n';
  if (typeof value === 'bigint' || typeof value === 'number') return `${value}n`;
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
}

function sorted(rows: unknown[][]): unknown[][] {
  return rows
    .map((row) => JSON.stringify(row))
    .sort()
    .map((row) => JSON.parse(row) as unknown[]);
}
