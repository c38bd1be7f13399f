/**
 * Workspace snapshots: how long a run waits after a step that has changed files, after one that has not, and when it
 * continues on another machine. 1 000 small files and a large one, on a local backend and a Postgres that does not wait
 * for the disk.
 *
 * Fair because the floor is the same compressed bytes, inserted in the same pieces into a bare table of the same database.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalBackend } from '@talaria/sandbox/local';
import pg from 'pg';
import { PostgresJournal } from '../../packages/server/src/journal/postgres/postgres-journal.ts';
import { startPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { claimedRun } from '../../packages/server/src/journal/testing/records.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

const ROUNDS = 5;
const SMALL_FILES = 1_000;
const SMALL_BYTES = 4_000;
const LARGE_BYTES = 12_000_000;
const CONTENT_BYTES = SMALL_FILES * SMALL_BYTES + LARGE_BYTES;
const CHUNK_BYTES = 1024 * 1024;
const MEGABYTE = 1_000_000;

export async function workspaceSnapshots(stage: Stage): Promise<Row[]> {
  await using opened = new AsyncDisposableStack();
  const postgres = await startPostgres();
  opened.defer(() => postgres.stop());
  const url = await postgres.createDatabase();
  const journal = await PostgresJournal.open({ url });
  opened.defer(() => journal.close());
  const bare = new pg.Client(url);
  await bare.connect();
  opened.defer(() => bare.end());
  await bare.query('CREATE TABLE bare (n integer PRIMARY KEY, bytes bytea NOT NULL)');
  await bare.query('ALTER TABLE bare ALTER COLUMN bytes SET STORAGE EXTERNAL');

  const workspacesDir = stage.directory();
  const backend = new LocalBackend({ workspacesDir });
  await backend.start();
  opened.defer(() => backend.stop());
  const claim = await claimedRun(journal);
  const { runId } = claim;
  await backend.release(await backend.acquire(runId));
  writeFiles(join(workspacesDir, `t-${runId}`));

  const store = async () => journal.snapshots.store(claim, 1, (await backend.snapshotWorkspace(runId))!);
  const stored = await store();
  const chunks = Math.ceil(stored.bytes / CHUNK_BYTES);
  const chunk = randomBytes(Math.floor(stored.bytes / chunks));
  const sides = {
    floor: () => rate(() => insertBare(bare, chunk, chunks)),
    ours: () => rate(store),
  };
  await alternate(1, sides);
  const storing = await alternate(ROUNDS, sides);
  const others = await alternate(ROUNDS, {
    restored: () => rate(async () => backend.restoreWorkspace(`${runId}-2`, read(journal, runId))),
    unchanged: async () => {
      const startedAt = performance.now();
      await backend.captureWorkspace(runId);
      await journal.snapshots.confirm(claim, (await journal.snapshots.find(runId))!.snapshotId, 2);
      return performance.now() - startedAt;
    },
  });
  const note = `${SMALL_FILES} files of ${SMALL_BYTES} bytes and one of ${LARGE_BYTES / MEGABYTE} MB; half of the content is random, ${(stored.bytes / MEGABYTE).toFixed(0)} MB are stored`;
  return [
    {
      what: 'workspace snapshot, stored',
      unit: 'MB/s',
      better: 'more',
      ours: storing.ours,
      floor: { name: 'bare inserts of what is stored', rounds: storing.floor },
      note,
    },
    { what: 'workspace snapshot, restored', unit: 'MB/s', better: 'more', ours: others.restored, note },
    { what: 'workspace snapshot, nothing changed', unit: 'ms', better: 'less', ours: others.unchanged, note },
  ];
}

async function* read(journal: PostgresJournal, runId: string): AsyncGenerator<Uint8Array, void> {
  yield* journal.snapshots.read(runId, (await journal.snapshots.find(runId))!);
}

function writeFiles(directory: string): void {
  for (let i = 0; i < SMALL_FILES; i++) {
    const parent = join(directory, `directory-${i % 100}`);
    mkdirSync(parent, { recursive: true });
    writeFileSync(join(parent, `file-${i}`), halfRandom(SMALL_BYTES));
  }
  writeFileSync(join(directory, 'large'), halfRandom(LARGE_BYTES));
}

function halfRandom(bytes: number): Buffer {
  return Buffer.concat([randomBytes(bytes / 2), Buffer.alloc(bytes / 2, 'the same line again and again\n')]);
}

async function insertBare(client: pg.Client, chunk: Buffer, chunks: number): Promise<void> {
  await client.query('DELETE FROM bare');
  for (let n = 0; n < chunks; n++) {
    await client.query('INSERT INTO bare (n, bytes) VALUES ($1, $2)', [n, chunk]);
  }
}

/** In megabytes of content a second. */
async function rate(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return CONTENT_BYTES / MEGABYTE / ((performance.now() - startedAt) / 1000);
}
