import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeBlobStoreContract } from '../../blobs/blob-store.contract.ts';
import { PostgresBlobs } from './blobs.ts';
import { Database } from './database.ts';
import { PostgresJournal } from './postgres-journal.ts';
import { type SharedPostgres, sharedPostgres } from './testing/start-postgres.ts';

let postgres: SharedPostgres;
let url: string;
let now: () => number;
let database: Database;

beforeAll(async () => {
  postgres = await sharedPostgres();
  url = await postgres.createDatabase();
  await (await PostgresJournal.open({ url })).close();
  database = new Database({ url, connections: 4, now: () => now() });
});
afterAll(async () => {
  await database?.close();
  await postgres?.stop();
});

const empty = () => database.transaction({ waitMs: 0 }, async (tx) => tx.send('TRUNCATE blobs, blob_chunks'));

describeBlobStoreContract('postgres', async (options) => {
  now = options.now;
  await empty();
  const open = () => new PostgresBlobs(database);
  return { blobs: open(), reopen: async () => open(), dispose: async () => {} };
});

const count = async (table: string): Promise<number> => {
  const [row] = await database.rows<{ count: number }>(
    { waitMs: 0 },
    `SELECT count(*) AS count FROM ${table}`,
  );
  return row!.count;
};

it('a large blob is removed in parts, of which none is left', async () => {
  await empty();
  const blobs = new PostgresBlobs(database);
  async function* bytes() {
    yield Buffer.from('x');
  }
  const { blobId } = await blobs.write(bytes());
  // More chunks than one statement removes. Their size does not matter.
  await database.rows(
    { waitMs: 0 },
    "INSERT INTO blob_chunks SELECT $1, n, 'x' FROM generate_series(1, 139) AS n",
    [blobId],
  );
  expect(await count('blob_chunks')).toBe(140);
  await blobs.remove([blobId]);
  expect([await count('blobs'), await count('blob_chunks')]).toEqual([0, 0]);
});

it('is written and read whole across restarts of the database', async () => {
  const blobs = new PostgresBlobs(database);
  const half = randomBytes(1_500_000);
  async function* restartedHalfWay() {
    yield half;
    await postgres.restart(async () => {});
    yield half;
  }
  const { blobId } = await blobs.write(restartedHalfWay());
  const chunks: Uint8Array[] = [];
  for await (const chunk of blobs.read(blobId)) {
    if (chunks.length === 0) await postgres.restart(async () => {});
    chunks.push(chunk);
  }
  expect(Buffer.concat(chunks).equals(Buffer.concat([half, half]))).toBe(true);
});

it('a client is refused after a while if the database is away', async () => {
  const blobs = new PostgresBlobs(database);
  async function* bytes() {
    yield Buffer.from('x');
  }
  const { blobId } = await blobs.write(bytes());
  await postgres.restart(async () => {
    await expect(blobs.write(bytes(), { whileAway: 'refuse' })).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    const reading = blobs.read(blobId, undefined, { whileAway: 'refuse' })[Symbol.asyncIterator]();
    await expect(reading.next()).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});
