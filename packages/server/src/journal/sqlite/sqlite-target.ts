/** A SQLite store as the target of a move (`../moving/store-ends.ts`): creates its file, or continues to fill it. */
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { blobsBeside, DirectoryBlobs } from '../../blobs/directory-blobs.ts';
import { type FileLock, lockFile } from '../../files/file-lock.ts';
import { makeDirectory } from '../../files/make-directory.ts';
import { makePrivate } from '../../files/private-file.ts';
import {
  type Counters,
  type Key,
  type Mark,
  type MovedTable,
  MoveRefusedError,
  type Row,
  type StoreShape,
  type TargetEnd,
} from '../moving/store-ends.ts';
import { quoted, readCounters, readExpression, readShape, writeExpression } from './catalog.ts';
import { migrate, SCHEMA_VERSION } from './migrations.ts';
import { readMark, writeMark } from './move-mark.ts';
import { type Statements, statementsOf } from './statements.ts';

export class SqliteTarget implements TargetEnd {
  readonly takesZeroCharacters = true;
  readonly shape: StoreShape;
  readonly blobs: DirectoryBlobs;
  readonly #db: DatabaseSync;
  readonly #lock: FileLock;
  readonly #statement: Statements;

  static open(path: string): SqliteTarget {
    makeDirectory(dirname(path));
    const lock = lockFile(`${path}.lock`, `The database ${path} is in use by a server: stop it first`);
    let db: DatabaseSync | undefined;
    try {
      makePrivate(path);
      db = new DatabaseSync(path);
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      expectNoOtherSchema(db);
      migrate(db);
      return new SqliteTarget(db, lock, new DirectoryBlobs({ path: blobsBeside(path) }));
    } catch (error) {
      db?.close();
      lock.release();
      if (error instanceof MoveRefusedError) throw error;
      throw new Error(`The database ${path} cannot be written: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  private constructor(db: DatabaseSync, lock: FileLock, blobs: DirectoryBlobs) {
    this.blobs = blobs;
    this.#db = db;
    this.#lock = lock;
    this.#statement = statementsOf(db);
    this.shape = readShape(db);
  }

  async count({ name }: MovedTable): Promise<number> {
    return this.#statement(`SELECT count(*) AS count FROM ${quoted(name)}`).get<{ count: number }>()!.count;
  }

  async counters(): Promise<Counters> {
    return readCounters(this.#db, this.shape);
  }

  async mark(): Promise<Mark | undefined> {
    return readMark(this.#db);
  }

  async begin(tables: readonly MovedTable[], mark: Mark): Promise<void> {
    this.#transaction(() => {
      for (const { name } of tables) this.#db.exec(`DELETE FROM ${quoted(name)}`);
      writeMark(this.#db, mark);
    });
  }

  async setMark(mark: Mark): Promise<void> {
    this.#transaction(() => writeMark(this.#db, mark));
  }

  async add({ name, columns }: MovedTable, rows: readonly Row[], mark: Mark): Promise<void> {
    const insert = this.#statement(
      `INSERT INTO ${quoted(name)} (${columns.map((column) => quoted(column.name)).join(', ')})
       VALUES (${columns.map(({ kind }) => writeExpression(kind)).join(', ')})`,
    );
    this.#transaction(() => {
      for (const row of rows) insert.run(...row);
      writeMark(this.#db, mark);
    });
  }

  async setCounters(counters: Counters): Promise<void> {
    this.#transaction(() => {
      for (const counter of this.shape.counters) {
        const [table] = counter.split('.');
        this.#statement('DELETE FROM sqlite_sequence WHERE name = ?').run(table!);
        const last = counters.get(counter);
        if (last === undefined) continue;
        this.#statement('INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))').run(
          table!,
          last,
        );
      }
    });
  }

  async settle(): Promise<void> {}

  async find({ name, columns, key }: MovedTable, keys: readonly Key[]): Promise<Row[]> {
    const kinds = new Map(columns.map((column) => [column.name, column.kind]));
    const select = this.#statement(
      `SELECT ${columns.map((column) => readExpression(column.name, column.kind)).join(', ')} FROM ${quoted(name)}
        WHERE ${key.map((column) => `${quoted(column)} = ${writeExpression(kinds.get(column)!)}`).join(' AND ')}`,
    ).asArrays();
    return keys.map((values) => select.get<Row>(...values)).filter((row) => row !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#db.close();
    this.#lock.release();
  }

  #transaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}

/** The tables of another store are not upgraded just to find out that it is not empty. */
function expectNoOtherSchema(db: DatabaseSync): void {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (version !== 0 && version !== SCHEMA_VERSION) {
    throw new MoveRefusedError(
      `The target has tables of schema ${version}, and this version's are ${SCHEMA_VERSION}. A store is moved into an empty database`,
    );
  }
}
