/**
 * A SQLite store as the source of a move (`../moving/store-ends.ts`). It is opened read-only, in one transaction from
 * beginning to end, under the lock of the server that would write to it.
 *
 * Data that other drivers store and this one does not is computed, by views that replace its tables.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { blobsBeside, DirectoryBlobs } from '../../blobs/directory-blobs.ts';
import { readSmallFirst } from '../../blobs/small-blobs-first.ts';
import { type FileLock, lockFile } from '../../files/file-lock.ts';
import {
  BATCH,
  type BatchLimits,
  type Counters,
  type Key,
  type MovedTable,
  MoveRefusedError,
  type Row,
  type SourceEnd,
  type StoreShape,
} from '../moving/store-ends.ts';
import { unfinishedMove } from '../moving/unfinished-move.ts';
import { receiverOf } from '../outbox.ts';
import { quoted, readCounters, readExpression, readShape, writeExpression } from './catalog.ts';
import { SCHEMA_VERSION } from './migrations.ts';
import { moveState } from './move-mark.ts';
import { SmallBlobsReader } from './sqlite-small-blobs.ts';
import { statementsOf } from './statements.ts';

const COMPUTED = `
  CREATE TEMP VIEW owners AS SELECT DISTINCT owner, 0 AS turn FROM main.runs;
  CREATE TEMP VIEW webhooks AS SELECT *, receiver_of(url) AS receiver FROM main.webhooks;
`;

export class SqliteSource implements SourceEnd {
  readonly shape: StoreShape;
  readonly identity: string;
  readonly blobs: Pick<BlobStore, 'read'>;
  readonly #db: DatabaseSync;
  readonly #lock: FileLock;
  readonly #limits: BatchLimits;

  static open(path: string, limits: BatchLimits = BATCH): SqliteSource {
    if (!existsSync(path)) throw new MoveRefusedError(`There is no database ${path}`);
    const lock = lockFile(`${path}.lock`, `The database ${path} is in use by a server: stop it first`);
    let db: DatabaseSync | undefined;
    try {
      db = new DatabaseSync(path, { readOnly: true });
      expectPresentSchema(db, path);
      return new SqliteSource(db, lock, limits, new DirectoryBlobs({ path: blobsBeside(path) }));
    } catch (error) {
      db?.close();
      lock.release();
      throw error;
    }
  }

  private constructor(db: DatabaseSync, lock: FileLock, limits: BatchLimits, large: DirectoryBlobs) {
    const small = new SmallBlobsReader(statementsOf(db));
    this.blobs = { read: (...of) => readSmallFirst(small, large, ...of) };
    this.#db = db;
    this.#limits = limits;
    this.#lock = lock;
    this.shape = withComputed(readShape(db));
    db.function('receiver_of', { deterministic: true }, (url) => receiverOf(url as string));
    db.exec(COMPUTED);
    db.exec('BEGIN');
    const key = db.prepare("SELECT value FROM keys WHERE name = 'cursors'").get()!.value as Uint8Array;
    this.identity = createHash('sha256').update(key).digest('hex');
  }

  async count({ name }: MovedTable): Promise<number> {
    return this.#db.prepare(`SELECT count(*) AS count FROM ${quoted(name)}`).get()!.count as number;
  }

  async countBlobs(): Promise<number> {
    return this.#db.prepare('SELECT count(DISTINCT blob_id) AS count FROM blob_refs').get()!.count as number;
  }

  async blobIds(after: string | undefined, limit: number): Promise<string[]> {
    const rows = this.#db
      .prepare('SELECT DISTINCT blob_id FROM blob_refs WHERE blob_id > ? ORDER BY blob_id LIMIT ?')
      .all(after ?? '', limit);
    return rows.map((row) => row.blob_id as string);
  }

  async counters(): Promise<Counters> {
    const counters = readCounters(this.#db, this.shape);
    const { place } = this.#db.prepare('SELECT CAST(max(place) AS TEXT) AS place FROM sessions').get()!;
    if (place !== null) counters.set('session_places', place as string);
    return counters;
  }

  async *batches({ name, columns, key }: MovedTable, after: Key | undefined): AsyncIterable<Row[]> {
    const order = key.map(quoted).join(', ');
    const kinds = new Map(columns.map((column) => [column.name, column.kind]));
    const start = key.map((column) => writeExpression(kinds.get(column)!)).join(', ');
    const statement = statementsOf(this.#db)(
      `SELECT ${columns.map((column) => readExpression(column.name, column.kind)).join(', ')} FROM ${quoted(name)}
        ${after === undefined ? '' : `WHERE (${order}) > (${start})`} ORDER BY ${order}`,
    ).asArrays();
    let batch: Row[] = [];
    let chars = 0;
    for (const row of statement.iterate<Row>(...(after ?? []))) {
      batch.push(row);
      for (const value of row) chars += value?.length ?? 0;
      if (batch.length < this.#limits.rows && chars < this.#limits.chars) continue;
      yield batch;
      batch = [];
      chars = 0;
    }
    if (batch.length > 0) yield batch;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#db.close();
    this.#lock.release();
  }
}

function withComputed({ tables, counters }: StoreShape): StoreShape {
  const webhooks = tables.get('webhooks')!;
  return {
    tables: new Map([
      ...tables,
      [
        'owners',
        { columns: new Map([['owner', 'text'] as const, ['turn', 'integer'] as const]), key: ['owner'] },
      ],
      ['webhooks', { ...webhooks, columns: new Map([...webhooks.columns, ['receiver', 'text'] as const]) }],
    ]),
    counters: new Set([...counters, 'session_places', 'turns']),
  };
}

/** The source must not be changed, so its own server has to upgrade it. */
function expectPresentSchema(db: DatabaseSync, path: string): void {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (version === 0) throw new MoveRefusedError(`The file ${path} is not a database of a server`);
  if (version > SCHEMA_VERSION) {
    throw new MoveRefusedError(
      `The database ${path} was made by a newer version (schema ${version}, this one knows ${SCHEMA_VERSION}): move it with that one`,
    );
  }
  if (version < SCHEMA_VERSION) {
    throw new MoveRefusedError(
      `The database ${path} was made by an older version (schema ${version}, this one moves ${SCHEMA_VERSION}): start this version's server on it once, and stop it again`,
    );
  }
  const move = unfinishedMove(moveState(db));
  if (move !== undefined)
    throw new MoveRefusedError(`The database ${path} cannot be moved: ${move.problem}. ${move.fix}`);
}
