import { createHash, randomBytes } from 'node:crypto';
import { copyFileSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createFileId } from '@talaria/protocol';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBlobId } from '../../blobs/blob-ids.ts';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { blobsBeside } from '../../blobs/directory-blobs.ts';
import type { Journal } from '../journal.ts';
import { PostgresJournal } from '../postgres/postgres-journal.ts';
import { PostgresSource } from '../postgres/postgres-source.ts';
import { PostgresTarget } from '../postgres/postgres-target.ts';
import { type SharedPostgres, sharedPostgres } from '../postgres/testing/start-postgres.ts';
import { SqliteJournal } from '../sqlite/sqlite-journal.ts';
import { SqliteSource } from '../sqlite/sqlite-source.ts';
import { SqliteTarget } from '../sqlite/sqlite-target.ts';
import { KEPT_THREADS } from '../sqlite/testing/kept-threads.ts';
import { type TempDirectory, tempDirectory } from '../sqlite/testing/temp-journal.ts';
import { claimedRun, completed, createRun, delta } from '../testing/records.ts';
import { type MoveOptions, moveStore } from './move-store.ts';
import { isMoved, movedTables, NOT_IN_SQLITE } from './moved-tables.ts';
import type { BatchLimits, SourceEnd, StoreShape, TargetEnd } from './store-ends.ts';
import { dumpPostgres, dumpSqlite, fillStore } from './testing/filled-stores.ts';

/** Several batches for each table, for tests of what happens between them. */
const SMALL: BatchLimits = { rows: 3, chars: 1_000 };

let postgres: SharedPostgres;
let directory: TempDirectory;
let path: string;
let url: string;
/** The database that each test gets a copy of; otherwise it has no rows. */
let copied: string | undefined;

beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.stop());
beforeEach(async () => {
  directory = tempDirectory();
  path = join(directory.path, 'talaria.db');
  url = await postgres.createDatabase(copied);
});
afterEach(() => directory[Symbol.dispose]());

interface Ends {
  from?: string;
  to?: string;
  limits?: BatchLimits;
}

async function move({ from = path, to = url, limits }: Ends = {}, options: MoveOptions = {}) {
  await using source: SourceEnd = isUrl(from)
    ? await PostgresSource.open(from, limits)
    : SqliteSource.open(from, limits);
  await using target: TargetEnd = isUrl(to) ? await PostgresTarget.open(to) : SqliteTarget.open(to);
  return await moveStore(source, target, options);
}

const isUrl = (store: string): boolean => store.startsWith('postgres:');

async function query(sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    await client.end();
  }
}

const openJournal = (file: string) => SqliteJournal.open({ path: file, threads: KEPT_THREADS });

function change(sql: string): void {
  using db = new DatabaseSync(path);
  db.exec(sql);
}

/** Ends the move after this many batches, as Ctrl-C does. */
function stopAfter(batches: number): MoveOptions {
  const stopping = new AbortController();
  let left = batches;
  return {
    signal: stopping.signal,
    onProgress: ({ phase }) => {
      if (phase === 'copying' && left-- === 0) stopping.abort(new Error('stopped'));
    },
  };
}

describe('the tables of the drivers', () => {
  async function shapes(): Promise<[sqlite: StoreShape, stored: StoreShape, postgres: StoreShape]> {
    fillStore(path, { rows: 0, seed: 1 });
    await using source = SqliteSource.open(path);
    await using file = SqliteTarget.open(join(directory.path, 'other.db'));
    await using target = await PostgresTarget.open(url);
    return [source.shape, file.shape, target.shape];
  }

  const columnsOf = ({ tables }: StoreShape) =>
    [...tables]
      .filter(([name]) => isMoved(name))
      .flatMap(([name, { columns }]) =>
        [...columns.keys()].filter((column) => isMoved(name, column)).map((column) => `${name}.${column}`),
      )
      .sort();
  const movedColumns = (from: StoreShape, to: StoreShape) =>
    movedTables(from, to)
      .flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`))
      .sort();

  it('are all moved to Postgres, with every column and counter, but for those that are listed', async () => {
    const [sqlite, , other] = await shapes();
    expect(movedColumns(sqlite, other)).toEqual(columnsOf(other));
    expect(columnsOf(sqlite)).toEqual(columnsOf(other));
    expect([...sqlite.counters].sort()).toEqual([...other.counters].sort());
  });

  it('are all moved to SQLite, but for those that are listed and what SQLite has no use for', async () => {
    const [, stored, other] = await shapes();
    const isLeft = (column: string) => column in NOT_IN_SQLITE || column.split('.')[0]! in NOT_IN_SQLITE;
    expect(movedColumns(other, stored)).toEqual(columnsOf(stored));
    expect(columnsOf(other).filter((column) => !isLeft(column))).toEqual(columnsOf(stored));
  });
});

describe('rows of any values', () => {
  it.each([1])('arrive unchanged, and go back unchanged (seed %i)', areUnchanged);
  it.each([2])('arrive unchanged, and go back unchanged (seed %i)', { tags: ['soak'] }, areUnchanged);

  async function areUnchanged(seed: number): Promise<void> {
    fillStore(path, { rows: 20, seed });
    const before = dumpSqlite(path);
    expect(Object.keys(before).length).toBeGreaterThan(8);
    for (const rows of Object.values(before)) expect(rows.length).toBeGreaterThan(1);
    const { tables } = await move({ limits: { rows: 7, chars: 2_000 } });
    expect(await dumpPostgres(url, path)).toEqual(before);
    expect(tables.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(150);

    const back = join(directory.path, 'back', 'talaria.db');
    await move({ from: url, to: back, limits: { rows: 7, chars: 2_000 } });
    expect(dumpSqlite(back)).toEqual(before);
    expect(dumpSqlite(path)).toEqual(before);
  }

  it('messages larger than a batch arrive, and neither end reads more than one at a time', async () => {
    fillStore(path, { rows: 0, seed: 1 });
    const large = JSON.stringify('ü'.repeat(600_000));
    using db = new DatabaseSync(path);
    const insert = db.prepare(
      "INSERT INTO session_messages (session, pos, turn, run_id, at, begins_context, message) VALUES (1, ?, 0, 'r', 0, 0, ?)",
    );
    for (let pos = 0; pos < 3; pos++) insert.run(pos, large);
    const sizes: number[] = [];
    const limits = { rows: 1000, chars: 500_000 };
    for (const open of [() => SqliteSource.open(path, limits), () => PostgresSource.open(url, limits)]) {
      if (sizes.length > 0) await move({ limits });
      await using source = await open();
      const [table] = movedTables(source.shape, source.shape).filter(
        ({ name }) => name === 'session_messages',
      );
      for await (const batch of source.batches(table!, undefined)) sizes.push(batch.length);
    }
    expect(sizes).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('zero characters, which Postgres cannot store, become U+FFFD, and the result says so', async () => {
    fillStore(path, { rows: 2, seed: 1 });
    change(
      "UPDATE jobs SET prompt = 'a' || char(0) || 'b' || char(0); INSERT INTO grants (id, owner, session_id, pattern_key, created_at) VALUES ('g', 'o', char(0), 'p', 1)",
    );
    const { tables } = await move();
    expect(await query('SELECT DISTINCT prompt FROM jobs')).toEqual([{ prompt: 'a\uFFFDb\uFFFD' }]);
    expect(await query("SELECT session_id FROM grants WHERE owner = 'o'")).toEqual([
      { session_id: '\uFFFD' },
    ]);
    const replaced = tables.filter(({ replacedTexts }) => replacedTexts > 0);
    expect(replaced).toMatchObject([
      { table: 'grants', replacedTexts: 1 },
      { table: 'jobs', replacedTexts: 2 },
    ]);
  });
});

describe('numbers that a store gives out once', () => {
  it('continue after the last one, also where that row is gone', async () => {
    const journal = await openJournal(path);
    for (let i = 0; i < 3; i++) await createRun(journal);
    await journal.close();
    change('DELETE FROM runs WHERE n = 3');
    await move();
    const moved = await PostgresJournal.open({ url });
    await createRun(moved);
    await moved.close();
    expect(await query('SELECT n FROM runs ORDER BY n')).toEqual([{ n: '1' }, { n: '2' }, { n: '4' }]);

    const back = join(directory.path, 'back.db');
    await move({ from: url, to: back });
    const again = await openJournal(back);
    const runId = await createRun(again);
    expect((await again.getRun(runId))?.ordinal).toBe(5);
    await again.close();
  });

  it('cursors of listings stay valid', async () => {
    const journal = await openJournal(path);
    for (let i = 0; i < 3; i++) await createRun(journal);
    const { runs, next } = await journal.listRuns({ owner: 'ada', limit: 1 });
    const rest = await journal.listRuns({ owner: 'ada', limit: 5, after: next! });
    expect([runs.length, rest.runs.length]).toEqual([1, 2]);
    await journal.close();
    await move();
    const moved = await PostgresJournal.open({ url });
    expect(await moved.listRuns({ owner: 'ada', limit: 5, after: next! })).toEqual(rest);
    await moved.close();
  });
});

it('rows that only wait to be deleted are left behind', async () => {
  fillStore(path, { rows: 4, seed: 3 });
  await move();
  const before = dumpSqlite(path);
  await query('INSERT INTO records VALUES (77, 0, 0, $1, 0, NULL, NULL)', 'x');
  await query("INSERT INTO leftovers VALUES ('run', 77, 1)");
  const back = join(directory.path, 'back.db');
  await move({ from: url, to: back });
  expect(dumpSqlite(back)).toEqual(before);
});

describe('the bytes of files', () => {
  const BYTES = randomBytes(1_200_000);
  /** It comes with a record. */
  const SMALL = { blobId: createBlobId(), bytes: Buffer.from('of a checkpoint') };

  async function* pieces(bytes: Buffer) {
    for (let at = 0; at < bytes.length; at += 60_001) yield bytes.subarray(at, at + 60_001);
  }

  async function fill(): Promise<string[]> {
    const journal = await openJournal(path);
    const { blobs } = journal;
    const claim = await claimedRun(journal);
    await journal.append(claim, [completed()], { blobs: [SMALL] });
    const ids: string[] = [];
    for (const bytes of [BYTES, Buffer.from('small'), Buffer.alloc(0)]) {
      const blob = await blobs.write(pieces(bytes));
      const fileId = createFileId();
      const file = { owner: 'ada', fileId, filename: 'a', purpose: 'p', blob };
      await journal.files.add(file, { maxFiles: 10, maxBytes: 10_000_000 });
      ids.push(fileId);
    }
    // Nobody needs these.
    await blobs.write(pieces(BYTES));
    await journal.close();
    return ids;
  }

  async function sizes(journal: Journal, blobs: BlobStore, fileIds: readonly string[]): Promise<number[]> {
    const found: number[] = [];
    for (const fileId of fileIds) {
      const { blobId, sha256 } = (await journal.files.get('ada', fileId))!;
      const hash = createHash('sha256');
      let size = 0;
      for await (const piece of blobs.read(blobId)) {
        hash.update(piece);
        size += piece.length;
      }
      expect(hash.digest('hex')).toBe(sha256);
      found.push(size);
    }
    for await (const piece of blobs.read(SMALL.blobId)) expect(Buffer.from(piece)).toEqual(SMALL.bytes);
    expect(await blobs.list(undefined, 100)).toHaveLength(fileIds.length + 1);
    return found;
  }

  it('are moved with them, without those that nobody needs, and go back', async () => {
    const fileIds = await fill();
    const { tables, missingContents } = await move();
    expect(tables.find(({ table }) => table === 'contents')).toMatchObject({ rows: 4 });
    expect(missingContents).toBe(0);
    const moved = await PostgresJournal.open({ url });
    expect(await sizes(moved, moved.blobs, fileIds)).toEqual([BYTES.length, 5, 0]);
    await moved.close();
    const back = join(directory.path, 'back.db');
    await move({ from: url, to: back });
    const again = await openJournal(back);
    expect(await sizes(again, again.blobs, fileIds)).toEqual([BYTES.length, 5, 0]);
    await again.close();
  });

  it('that are lost in the source are counted, and lost in the target', async () => {
    const fileIds = await fill();
    rmSync(blobsBeside(path), { recursive: true });
    expect(await move()).toMatchObject({ missingContents: 3 });
    const moved = await PostgresJournal.open({ url });
    await expect(sizes(moved, moved.blobs, fileIds)).rejects.toThrow('do not exist');
    await moved.close();
  });

  it('that differ are found', async () => {
    await fill();
    await move({}, stopAfter(0)).catch(() => {});
    await expect(
      move(
        {},
        {
          onProgress: ({ phase, table }) => {
            if (phase !== 'comparing' || table !== 'contents') return;
            for (const name of globSync('*/*', { cwd: blobsBeside(path) })) {
              writeFileSync(join(blobsBeside(path), name), 'another');
            }
          },
        },
      ),
    ).rejects.toThrow(
      /The target differs from the source, so no server will open it: the contents \w+ differ/,
    );
  });
});

describe('leases', () => {
  it('end with the move, and epochs stay', async () => {
    const journal = await openJournal(path);
    const { runId, epoch } = await claimedRun(journal);
    await journal.append({ runId, epoch }, [delta()]);
    await createRun(journal, { owner: 'another' });
    await journal.close();
    await move();
    const moved = await PostgresJournal.open({ url });
    const claims = await moved.claim('worker', 60_000, 5);
    expect(claims.map((claim) => claim.epoch).sort()).toEqual([1, epoch + 1]);
    await expect(moved.append({ runId, epoch }, [delta()])).rejects.toThrow();
    await moved.close();
  });

  it('of webhook messages end, too', async () => {
    fillStore(path, { rows: 4, seed: 1 });
    change('UPDATE webhook_messages SET leased = 1, created_at = 1000 + epoch, due_at = 5 WHERE epoch > 0');
    await move();
    const rows = await query(
      'SELECT leased, due_at, created_at, epoch FROM webhook_messages WHERE epoch > 0',
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { leased, due_at, created_at, epoch } of rows) {
      expect([leased, due_at, created_at]).toEqual([false, `${1000 + Number(epoch)}`, due_at]);
    }
  });
});

describe('a move that was interrupted', () => {
  it('continues where it was, as often as it is interrupted', async () => {
    fillStore(path, { rows: 4, seed: 5 });
    const before = dumpSqlite(path);
    let starts = 0;
    for (let batches = 0; ; batches = (batches + 3) % 10) {
      starts += 1;
      const done = await move({ limits: SMALL }, stopAfter(batches)).then(
        () => true,
        (error: Error) => error.message !== 'stopped' && Promise.reject(error),
      );
      if (done) break;
      const [mark] = await query('SELECT state FROM store_move');
      expect(['copying', 'copied']).toContain(mark?.state);
    }
    expect(starts).toBeGreaterThan(5);
    expect(await dumpPostgres(url, path)).toEqual(before);
    // Nothing is left to do.
    expect((await move()).verifiedBefore).toBeInstanceOf(Date);
  });

  it('by a lost connection continues where it was', async () => {
    fillStore(path, { rows: 4, seed: 6 });
    let batches = 0;
    const lost = move(
      { limits: SMALL },
      {
        onProgress: () => {
          if (++batches === 9) {
            void query(
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'talaria migrate-store' AND datname = current_database()",
            );
          }
        },
      },
    );
    await expect(lost).rejects.toThrow(/terminat/i);
    await move();
    expect(await dumpPostgres(url, path)).toEqual(dumpSqlite(path));
  });

  it('is refused as a source and by servers, with a message that says what to do', async () => {
    fillStore(path, { rows: 4, seed: 7 });
    await expect(move({ limits: SMALL }, stopAfter(5))).rejects.toThrow('stopped');
    await expect(PostgresJournal.open({ url })).rejects.toThrow(
      /another store is being moved into it.*Run the same talaria migrate-store command again/,
    );
    const half = join(directory.path, 'half.db');
    await expect(move({ to: half, limits: SMALL }, stopAfter(5))).rejects.toThrow('stopped');
    await expect(openJournal(half)).rejects.toThrow(/another store is being moved into it/);
    await expect(move({ from: half, to: url })).rejects.toThrow(/cannot be moved: another store/);
    await expect(move({ from: url, to: half })).rejects.toThrow(/cannot be moved: another store/);
  });

  it('does not continue when the source has changed, but starts over on request', async () => {
    fillStore(path, { rows: 4, seed: 8 });
    await expect(move({ limits: SMALL }, stopAfter(5))).rejects.toThrow('stopped');
    change(
      "INSERT INTO grants (id, owner, session_id, pattern_key, created_at) VALUES ('g', 'late', '', 'p', 1)",
    );
    await expect(move()).rejects.toThrow(/changed since the move began: grants had 4 rows and has 5/);
    await move({}, { startOver: true });
    expect(await dumpPostgres(url, path)).toEqual(dumpSqlite(path));
  });

  it('of another store does not continue', async () => {
    fillStore(path, { rows: 4, seed: 9 });
    await expect(move({ limits: SMALL }, stopAfter(5))).rejects.toThrow('stopped');
    const other = join(directory.path, 'other.db');
    fillStore(other, { rows: 4, seed: 10 });
    await expect(move({ from: other })).rejects.toThrow(/part of another store/);
  });
});

describe('the comparison', () => {
  let filled: TempDirectory;

  beforeAll(async () => {
    filled = tempDirectory();
    path = join(filled.path, 'talaria.db');
    fillStore(path, { rows: 6, seed: 11 });
    url = await postgres.createDatabase();
    await move();
    // As if the move had been interrupted before both were compared.
    await query("UPDATE store_move SET state = 'copied', mark = replace(mark, 'verified\"', 'copied\"')");
    copied = url;
  });
  afterAll(() => {
    copied = undefined;
    filled[Symbol.dispose]();
  });
  beforeEach(() => {
    path = join(filled.path, 'talaria.db');
  });

  type Difference = [what: string, sql: string, message: RegExp];

  const DIFFERENCES: Difference[] = [
    [
      'a changed text',
      "UPDATE jobs SET prompt = prompt || ' ' WHERE n = (SELECT max(n) FROM jobs)",
      /the row of jobs with n \d+ differs in prompt/,
    ],
    [
      'a row that is gone',
      'DELETE FROM session_messages WHERE pos = (SELECT min(pos) FROM session_messages)',
      /session_messages has 5 rows instead of 6/,
    ],
    [
      'a row under another key',
      "UPDATE idempotency SET key = key || '~' WHERE created_at = (SELECT max(created_at) FROM idempotency)",
      /idempotency has no row with owner/,
    ],
    [
      'a counter set back',
      "SELECT setval(pg_get_serial_sequence('runs', 'n'), 1)",
      /runs\.n continues counting from another number/,
    ],
  ];

  /** The same in columns of other types, and with one row too many instead of too few. */
  const FURTHER_DIFFERENCES: Difference[] = [
    [
      'a changed flag',
      'UPDATE runs SET session_gone = NOT session_gone WHERE n = (SELECT min(n) FROM runs)',
      /the row of runs with n \d+ differs in session_gone/,
    ],
    [
      'an empty text instead of null',
      "UPDATE responses SET snapshot = coalesce(snapshot, '')",
      /the row of responses with n \d+ differs in snapshot/,
    ],
    [
      'a row too many',
      "INSERT INTO owners (owner, turn) VALUES ('somebody', 1)",
      /owners has \d+ rows instead of \d+/,
    ],
    [
      'a changed key of the store',
      "UPDATE keys SET value = '\\x00'",
      /the row of keys with name .* differs in value/,
    ],
  ];

  it.each(DIFFERENCES)('finds %s', isFound);
  it.each(FURTHER_DIFFERENCES)('finds %s', { tags: ['soak'] }, isFound);

  async function isFound(_: string, sql: string, message: RegExp): Promise<void> {
    await query(sql);
    await expect(move()).rejects.toThrow(message);
    expect(await query('SELECT state FROM store_move')).toEqual([{ state: 'different' }]);
  }

  it('finds nothing where nothing differs', async () => {
    await move();
    expect(await query('SELECT state FROM store_move')).toEqual([{ state: 'verified' }]);
  });

  it('keeps everyone from opening a different target, until the move starts over', async () => {
    await query('DELETE FROM records');
    await expect(move()).rejects.toThrow(/no server will open it: records has 0 rows/);
    await expect(PostgresJournal.open({ url })).rejects.toThrow(
      /differs from it. Begin again with talaria migrate-store --start-over/,
    );
    await expect(move()).rejects.toThrow(/--start-over/);
    await move({}, { startOver: true });
    expect(await dumpPostgres(url, path)).toEqual(dumpSqlite(path));
  });
});

describe('a move is refused', () => {
  it('from a file that does not exist, and creates none', async () => {
    await expect(move()).rejects.toThrow(`There is no database ${path}`);
    await expect(move({ from: directory.path })).rejects.toThrow();
    expect(() => dumpSqlite(path)).toThrow();
  });

  it('while a server uses the source', async () => {
    const journal = await openJournal(path);
    await expect(move()).rejects.toThrow(/in use by a server: stop it first/);
    await journal.close();
    const moved = await PostgresJournal.open({ url });
    const file = join(directory.path, 'to.db');
    await expect(move({ from: url, to: file })).rejects.toThrow(
      /The source is in use: stop its servers first/,
    );
    const { runId, epoch } = await claimedRun(moved);
    await moved.close();
    await expect(move({ from: url, to: file })).rejects.toThrow(
      /under the lease of a server for another \d+ s/,
    );
    const again = await PostgresJournal.open({ url });
    await again.release({ runId, epoch });
    await again.close();
    await move({ from: url, to: file });
  });

  it('while a server uses the target', async () => {
    fillStore(path, { rows: 1, seed: 1 });
    const moved = await PostgresJournal.open({ url });
    await expect(move()).rejects.toThrow(/The target is in use: stop its servers first/);
    await moved.close();
    const file = join(directory.path, 'to.db');
    const journal = await openJournal(file);
    await expect(move({ to: file })).rejects.toThrow(/in use by a server/);
    await journal.close();
    // A server was started on them, and nothing else has happened.
    await move({ to: file });
    await move();
  });

  it('into a store that holds data, which stays unchanged', async () => {
    fillStore(path, { rows: 1, seed: 1 });
    const moved = await PostgresJournal.open({ url });
    const runId = await createRun(moved);
    await moved.close();
    await expect(move()).rejects.toThrow(/The target is not empty: its table owners has 1 rows/);
    await expect(move({}, { startOver: true })).rejects.toThrow(/The target is not empty/);
    expect(await query('SELECT run_id FROM runs')).toEqual([{ run_id: runId }]);
  });

  it('into a store that was moved there and has been used since', async () => {
    fillStore(path, { rows: 1, seed: 1 });
    await move();
    change(
      "INSERT INTO grants (id, owner, session_id, pattern_key, created_at) VALUES ('g', 'late', '', 'p', 1)",
    );
    await expect(move()).rejects.toThrow(/moved there before/);
    await expect(move({}, { startOver: true })).rejects.toThrow(/moved there before/);
  });

  it('from tables of another version, which stay unchanged', async () => {
    fillStore(path, { rows: 1, seed: 1 });
    const [older, newer] = [join(directory.path, 'older.db'), join(directory.path, 'newer.db')];
    for (const [file, version] of [
      [older, 3],
      [newer, 999],
    ] as const) {
      change('PRAGMA wal_checkpoint(TRUNCATE)');
      copyFileSync(path, file);
      using db = new DatabaseSync(file);
      db.exec(`PRAGMA user_version = ${version}`);
    }
    await expect(move({ from: older })).rejects.toThrow(
      /older version.*start this version's server on it once/,
    );
    await expect(move({ from: newer })).rejects.toThrow(/newer version.*move it with that one/);
    await expect(move({ to: older })).rejects.toThrow(/tables of schema 3/);
    await query('UPDATE talaria_schema SET version = 999');
    await expect(move()).rejects.toThrow(/tables of schema 999/);
  });

  it('and keeps servers out while it is in progress', async () => {
    fillStore(path, { rows: 3, seed: 1 });
    await move();
    await using _ = await PostgresSource.open(url);
    await expect(PostgresJournal.open({ url })).rejects.toThrow(/talaria migrate-store is working on it/);
  });
});
