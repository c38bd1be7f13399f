/**
 * A Postgres store as the target of a move (`../moving/store-ends.ts`): creates its tables, or continues to fill them.
 */
import {
  type Counters,
  type Key,
  type Mark,
  type MovedTable,
  MoveRefusedError,
  type Row,
  type TargetEnd,
} from '../moving/store-ends.ts';
import { PostgresBlobs } from './blobs.ts';
import { type PostgresShape, quoted, readExpression, readSequences, readShape } from './catalog.ts';
import { Database } from './database.ts';
import { migrate, SCHEMA_VERSION, schemaVersion } from './migrations.ts';
import { MoveConnection } from './move-connection.ts';
import { markStatement, readMark, writeMark } from './move-mark.ts';
import { BLOB_CONNECTIONS, readCounters } from './postgres-source.ts';

export class PostgresTarget implements TargetEnd {
  readonly takesZeroCharacters = false;
  readonly shape: PostgresShape;
  readonly blobs: PostgresBlobs;
  readonly #database: Database;
  readonly #connection: MoveConnection;

  static async open(url: string): Promise<PostgresTarget> {
    const connection = await MoveConnection.open(url, 'target');
    try {
      // Rows are looked up by key, many at a time: a scan of the whole table is never worth it.
      await connection.rows('SET enable_hashjoin = off; SET enable_mergejoin = off');
      const shape = await connection.transaction(async () => {
        await expectNoOtherSchema(connection);
        await migrate(connection);
        return readShape(connection);
      });
      return new PostgresTarget(connection, shape, new Database({ url, connections: BLOB_CONNECTIONS }));
    } catch (error) {
      await connection.end();
      throw error;
    }
  }

  private constructor(connection: MoveConnection, shape: PostgresShape, database: Database) {
    this.#database = database;
    this.blobs = new PostgresBlobs(database);
    this.#connection = connection;
    this.shape = shape;
  }

  async count({ name }: MovedTable): Promise<number> {
    const [row] = await this.#connection.rows<{ count: string }>(
      `SELECT count(*) AS count FROM ${quoted(name)}`,
    );
    return Number(row!.count);
  }

  counters(): Promise<Counters> {
    return readCounters(this.#connection);
  }

  mark(): Promise<Mark | undefined> {
    return readMark(this.#connection);
  }

  async begin(tables: readonly MovedTable[], mark: Mark): Promise<void> {
    await this.#connection.transaction(async () => {
      await this.#connection.rows(
        `TRUNCATE ${tables.map(({ name }) => quoted(name)).join(', ')} RESTART IDENTITY`,
      );
      await writeMark(this.#connection, mark);
    });
  }

  async setMark(mark: Mark): Promise<void> {
    await writeMark(this.#connection, mark);
  }

  /** One statement, and so one transaction. */
  async add(table: MovedTable, rows: readonly Row[], mark: Mark): Promise<void> {
    const { name, columns } = table;
    const values = columns.map((column) =>
      column.kind === 'bytes' ? `decode(r.${quoted(column.name)}, 'hex')` : `r.${quoted(column.name)}`,
    );
    await this.#connection.arrays(
      `add to ${name}`,
      `WITH marked AS (${markStatement('$2', '$3')})
       INSERT INTO ${quoted(name)} (${columns.map((column) => quoted(column.name)).join(', ')})
       OVERRIDING SYSTEM VALUE
       SELECT ${values.join(', ')} FROM ${this.#records(table, columns)}`,
      [JSON.stringify(rows.map((row) => asRecord(columns, row))), mark.state, JSON.stringify(mark)],
    );
  }

  async setCounters(counters: Counters): Promise<void> {
    for (const { counter, sequence } of await readSequences(this.#connection)) {
      const last = counters.get(counter);
      if (last === undefined) continue;
      await this.#connection.rows('SELECT setval($1::regclass, $2::bigint)', [quoted(sequence), last]);
    }
  }

  /** Statistics of its own tables for the planner, before a server's first queries. */
  async settle(): Promise<void> {
    const names = [...this.shape.tables.keys()].map(quoted);
    await this.#connection.rows(`ANALYZE ${names.join(', ')}`);
  }

  async find(table: MovedTable, keys: readonly Key[]): Promise<Row[]> {
    const key = table.columns.filter(({ name }) => table.key.includes(name));
    const same = key.map(({ name }) => `t.${quoted(name)} = r.${quoted(name)}`);
    return this.#connection.arrays<(string | null)[]>(
      `find in ${table.name}`,
      `SELECT ${table.columns.map(({ name, kind }) => readExpression(`t.${quoted(name)}`, kind)).join(', ')}
         FROM ${this.#records(table, key)} JOIN ${quoted(table.name)} t ON ${same.join(' AND ')}`,
      [
        JSON.stringify(
          keys.map((values) =>
            Object.fromEntries(table.key.map((name, place) => [name, values[place]] as const)),
          ),
        ),
      ],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database.close();
    await this.#connection.end();
  }

  /** The first parameter as a table: bytes are still text. */
  #records({ name }: MovedTable, columns: MovedTable['columns']): string {
    const types = columns.map((column) => {
      const type = column.kind === 'bytes' ? 'text' : this.shape.types.get(`${name}.${column.name}`);
      return `${quoted(column.name)} ${type}`;
    });
    return `json_to_recordset($1::json) AS r (${types.join(', ')})`;
  }
}

function asRecord(columns: MovedTable['columns'], row: Row): Record<string, string | null> {
  const record: Record<string, string | null> = {};
  for (const [place, { name }] of columns.entries()) record[name] = row[place]!;
  return record;
}

/** The tables of another store are not upgraded just to find out that it is not empty. */
async function expectNoOtherSchema(connection: MoveConnection): Promise<void> {
  const version = await schemaVersion(connection);
  if (version !== 0 && version !== SCHEMA_VERSION) {
    throw new MoveRefusedError(
      `The target has tables of schema ${version}, and this version's are ${SCHEMA_VERSION}. A store is moved into an empty database`,
    );
  }
}
