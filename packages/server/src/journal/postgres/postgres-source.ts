/**
 * A Postgres store as the source of a move (`../moving/store-ends.ts`). It is read in one transaction that sees the
 * database as it was at the beginning of the transaction.
 */
import { createHash } from 'node:crypto';
import {
  BATCH,
  type BatchLimits,
  type Counters,
  type Key,
  type MovedTable,
  MoveRefusedError,
  type Row,
  type SourceEnd,
} from '../moving/store-ends.ts';
import { unfinishedMove } from '../moving/unfinished-move.ts';
import { PostgresBlobs } from './blobs.ts';
import { type PostgresShape, quoted, readExpression, readSequences, readShape } from './catalog.ts';
import { Database } from './database.ts';
import { LEFTOVER_TABLES } from './leftovers.ts';
import { SCHEMA_VERSION, schemaVersion } from './migrations.ts';
import { MoveConnection } from './move-connection.ts';
import { moveState } from './move-mark.ts';

/** Besides the one that keeps servers out. */
export const BLOB_CONNECTIONS = 1;

/** Rows that only wait to be deleted are left out, by views that replace their tables. */
const WITHOUT_LEFTOVERS = Object.entries(LEFTOVER_TABLES)
  .map(
    ([of, { table, key }]) =>
      `CREATE TEMP VIEW ${table} AS SELECT * FROM ${table} t
        WHERE NOT EXISTS (SELECT 1 FROM leftovers l WHERE l."of" = '${of}' AND l.n = t.${key})`,
  )
  .join(';');

interface Parts {
  connection: MoveConnection;
  database: Database;
  shape: PostgresShape;
  identity: string;
  limits: BatchLimits;
}

export class PostgresSource implements SourceEnd {
  readonly shape: PostgresShape;
  readonly identity: string;
  readonly blobs: PostgresBlobs;
  readonly #database: Database;
  readonly #connection: MoveConnection;
  readonly #limits: BatchLimits;

  static async open(url: string, limits: BatchLimits = BATCH): Promise<PostgresSource> {
    const connection = await MoveConnection.open(url, 'source');
    try {
      await expectPresentSchema(connection);
      await connection.rows(WITHOUT_LEFTOVERS);
      await connection.rows('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      await expectNoLease(connection);
      const [key] = await connection.rows<{ value: Uint8Array }>(
        "SELECT value FROM keys WHERE name = 'cursors'",
      );
      if (key === undefined)
        throw new MoveRefusedError('The source holds no store: no server was ever started on it');
      const identity = createHash('sha256').update(key.value).digest('hex');
      const [shape, database] = [
        await readShape(connection),
        new Database({ url, connections: BLOB_CONNECTIONS }),
      ];
      return new PostgresSource({ connection, database, shape, identity, limits });
    } catch (error) {
      await connection.end();
      throw error;
    }
  }

  private constructor({ connection, database, shape, identity, limits }: Parts) {
    this.#database = database;
    this.blobs = new PostgresBlobs(database);
    this.#connection = connection;
    this.shape = shape;
    this.identity = identity;
    this.#limits = limits;
  }

  async count({ name }: MovedTable): Promise<number> {
    const [row] = await this.#connection.rows<{ count: string }>(
      `SELECT count(*) AS count FROM ${quoted(name)}`,
    );
    return Number(row!.count);
  }

  async countBlobs(): Promise<number> {
    const [row] = await this.#connection.rows<{ count: string }>(
      'SELECT count(DISTINCT blob_id) AS count FROM blob_refs',
    );
    return Number(row!.count);
  }

  async blobIds(after: string | undefined, limit: number): Promise<string[]> {
    const rows = await this.#connection.rows<{ blob_id: string }>(
      'SELECT DISTINCT blob_id FROM blob_refs WHERE blob_id > $1 ORDER BY blob_id LIMIT $2',
      [after ?? '', limit],
    );
    return rows.map((row) => row.blob_id);
  }

  async counters(): Promise<Counters> {
    return readCounters(this.#connection);
  }

  async *batches(table: MovedTable, from: Key | undefined): AsyncIterable<Row[]> {
    const position = table.key.map((column) => table.columns.findIndex(({ name }) => name === column));
    const [first, next] = [this.#page(table, false), this.#page(table, true)];
    for (let after = from; ; ) {
      const { name, sql } = after === undefined ? first : next;
      const page = await this.#connection.arrays<(string | null)[]>(name, sql, after);
      if (page.length === 0) return;
      yield page;
      after = position.map((place) => page.at(-1)![place]!);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database.close();
    await this.#connection.end();
  }

  /** As many rows as fit into a batch, measured in the database: their sizes are known without reading them. */
  #page({ name, columns, key }: MovedTable, goesOn: boolean): { name: string; sql: string } {
    const order = (table: string): string => key.map((column) => `${table}.${quoted(column)}`).join(', ');
    const start = key
      .map((column, index) => `$${index + 1}::${this.shape.types.get(`${name}.${column}`)}`)
      .join(', ');
    const large = columns.filter(({ kind }) => kind === 'text' || kind === 'bytes');
    const size = large.map((column) => `coalesce(octet_length(${quoted(column.name)}), 0)`).join(' + ');
    return {
      name: `page of ${name}${goesOn ? ', continued' : ''}`,
      sql: `
        SELECT ${columns.map((column) => readExpression(`sized.${quoted(column.name)}`, column.kind)).join(', ')}
          FROM (SELECT *, sum(size) OVER (ORDER BY ${order('page')}
                                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS size_before
                  FROM (SELECT *, ${size || '0'} AS size FROM ${quoted(name)} t
                         ${goesOn ? `WHERE (${order('t')}) > (${start})` : ''}
                         ORDER BY ${order('t')} LIMIT ${this.#limits.rows}) page) sized
         WHERE coalesce(size_before, 0) < ${this.#limits.chars} ORDER BY ${order('sized')}`,
    };
  }
}

export async function readCounters(connection: MoveConnection): Promise<Counters> {
  const sequences = await readSequences(connection);
  return new Map(sequences.flatMap(({ counter, last }) => (last === null ? [] : [[counter, last] as const])));
}

/** The source must not be changed, so its own server has to upgrade it. */
async function expectPresentSchema(connection: MoveConnection): Promise<void> {
  const version = await schemaVersion(connection);
  if (version === 0)
    throw new MoveRefusedError('The source holds no store: no server was ever started on it');
  if (version > SCHEMA_VERSION) {
    throw new MoveRefusedError(
      `The source was made by a newer version (schema ${version}, this one knows ${SCHEMA_VERSION}): move it with that one`,
    );
  }
  if (version < SCHEMA_VERSION) {
    throw new MoveRefusedError(
      `The source was made by an older version (schema ${version}, this one moves ${SCHEMA_VERSION}): start this version's server on it once, and stop it again`,
    );
  }
  const move = unfinishedMove(await moveState(connection));
  if (move !== undefined)
    throw new MoveRefusedError(`The source cannot be moved: ${move.problem}. ${move.fix}`);
}

/** A server that lost its connection, and so its lock, still works on what it has under a lease. */
async function expectNoLease(connection: MoveConnection): Promise<void> {
  const [row] = await connection.rows<{ seconds: string | null }>(
    `SELECT ceil(max(lease_until) / 1000.0 - extract(epoch FROM clock_timestamp()))::text AS seconds
       FROM runs WHERE finished_at IS NULL AND epoch > 0 AND parked_until IS NULL AND lease_until IS NOT NULL`,
  );
  const seconds = Number(row?.seconds ?? 0);
  if (seconds > 0) {
    throw new MoveRefusedError(
      `The source may be in use: runs are under the lease of a server for another ${seconds} s. Stop it, or wait as long`,
    );
  }
}
