/** Files of clients: with the official `openai` package, their limits, their bytes on the disk, on several servers. */
import { randomBytes } from 'node:crypto';
import { createReadStream, globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredFile } from '@talaria/protocol';
import OpenAI, { NotFoundError, toFile } from 'openai';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type SharedPostgres,
  sharedPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { errorOf } from '../support/error-of.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { waitFor } from '../support/wait-for.ts';

const KEY = 'sk-files-0001';
const LIMITS = {
  TALARIA_MAX_FILE_BYTES: '2000000',
  TALARIA_MAX_FILES_PER_KEY: '4',
  TALARIA_MAX_FILE_BYTES_PER_KEY: '4800000',
};

function blobFiles({ dataDir }: HostedServer): string[] {
  return globSync('talaria.db.blobs/*/*', { cwd: dataDir });
}

async function bytesOf(response: { arrayBuffer(): Promise<ArrayBuffer> }): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

/** Bytes as a client sends them that does not know how many there will be. */
async function* pieces(count: number) {
  for (let i = 0; i < count; i++) yield Buffer.alloc(64 * 1024);
}

describe('one server', () => {
  let server: HostedServer;
  let client: OpenAI;

  beforeAll(async () => {
    server = await HostedServer.start({ env: { API_SERVER_KEY: KEY, ...LIMITS } });
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: KEY, maxRetries: 0 });
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const removeAll = async () => {
    for await (const { id } of client.files.list({ limit: 1 })) await client.files.delete(id);
  };

  test("OpenAI's client creates, lists, gets, reads and deletes files", async () => {
    const bytes = randomBytes(1_500_000);
    const path = join(server.dataDir, 'früh 1.bin');
    writeFileSync(path, bytes);
    const created = await client.files.create({ file: createReadStream(path), purpose: 'user_data' });
    expect(created).toMatchObject({ object: 'file', bytes: bytes.length, filename: 'früh 1.bin' });
    const small = await client.files.create({
      file: await toFile(Buffer.from('hi'), 'hi.txt'),
      purpose: 'vision',
    });
    expect(await client.files.retrieve(created.id)).toEqual(created);
    expect(await client.files.waitForProcessing(created.id)).toEqual(created);
    expect((await bytesOf(await client.files.content(created.id))).equals(bytes)).toBe(true);
    const listed: string[] = [];
    for await (const file of client.files.list({ limit: 1 })) listed.push(file.id);
    expect(listed).toEqual([small.id, created.id]);
    const page = await client.files.list({ purpose: 'vision', order: 'asc' });
    expect(page.data.map(({ id }) => id)).toEqual([small.id]);
    expect(await client.files.delete(created.id)).toEqual({ id: created.id, object: 'file', deleted: true });
    expect(await errorOf(client.files.retrieve(created.id))).toBeInstanceOf(NotFoundError);
    expect(await errorOf(client.files.content(created.id))).toMatchObject({
      status: 404,
      code: 'file_not_found',
    });
    await removeAll();
    expect(blobFiles(server)).toEqual([]);
  });

  test('a file that is too large is refused, whether its size is known or not, and leaves nothing', async () => {
    const large = await toFile(Buffer.alloc(2_000_001), 'large.bin');
    const known = await errorOf(client.files.create({ file: large, purpose: 'user_data' }));
    expect(known).toMatchObject({
      status: 413,
      code: 'file_too_large',
      message: expect.stringContaining('2000000'),
    });
    const declared = await toFile(Buffer.alloc(2_400_000), 'larger.bin');
    expect(await errorOf(client.files.create({ file: declared, purpose: 'user_data' }))).toMatchObject({
      code: 'file_too_large',
    });
    const answered = Promise.withResolvers<void>();
    async function* tooMuch() {
      yield* pieces(50);
      await answered.promise;
    }
    const response = await fetch(`${server.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'multipart/form-data; boundary=b' },
      body: formWith(tooMuch()) as never,
      duplex: 'half',
    } as RequestInit);
    answered.resolve();
    expect([response.status, await response.json()]).toMatchObject([
      413,
      { error: { code: 'file_too_large' } },
    ]);
    const exact = await client.files.create({
      file: await toFile(Buffer.alloc(2_000_000), 'exact.bin'),
      purpose: 'user_data',
    });
    await client.files.delete(exact.id);
    await waitFor('no bytes on the disk', () => blobFiles(server).length === 0);
  });

  test('a key has as much as it may have, also of files that are on their way', async () => {
    const put = (size: number) =>
      toFile(Buffer.alloc(size), 'a.bin').then((file) => client.files.create({ file, purpose: 'user_data' }));
    await put(1_600_000);
    await put(1_600_000);
    const quota = { status: 413, code: 'file_quota_exceeded' };
    expect(await errorOf(put(1_800_000))).toMatchObject(quota);
    // Both have room alone, but not together.
    const both = await Promise.allSettled([put(1_000_000), put(1_000_000)]);
    const refused = both.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(refused).toHaveLength(1);
    expect(refused[0]!.reason).toMatchObject(quota);
    await put(1);
    expect(await errorOf(put(1))).toMatchObject({ ...quota, message: expect.stringContaining('may have 4') });
    await removeAll();
    await put(1_800_000);
    await removeAll();
    await waitFor('no bytes on the disk', () => blobFiles(server).length === 0);
  });

  test('a client that leaves half-way leaves no bytes', async () => {
    const leaving = new AbortController();
    async function* half() {
      yield* pieces(20);
      await waitFor('bytes on the disk', () => blobFiles(server).length === 1);
      leaving.abort();
      await new Promise(() => {});
    }
    const sent = fetch(`${server.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'multipart/form-data; boundary=b' },
      body: formWith(half()) as never,
      duplex: 'half',
      signal: leaving.signal,
    } as RequestInit);
    expect(await errorOf(sent)).toMatchObject({ name: 'AbortError' });
    await waitFor('no bytes on the disk', () => blobFiles(server).length === 0);
    expect((await client.files.list()).data).toEqual([]);
  });

  test('files survive a restart', async () => {
    const { id } = await client.files.create({
      file: await toFile(Buffer.from('kept'), 'a'),
      purpose: 'user_data',
    });
    await server.restart();
    const again = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: KEY, maxRetries: 0 });
    expect((await bytesOf(await again.files.content(id))).toString()).toBe('kept');
    await again.files.delete(id);
  });
});

async function* formWith(bytes: AsyncIterable<Uint8Array>) {
  yield Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
  yield* bytes;
  yield Buffer.from('\r\n--b--\r\n');
}

describe('two servers on Postgres', () => {
  let postgres: SharedPostgres;
  let url: string;
  let servers: HostedServer[];

  beforeAll(async () => {
    postgres = await sharedPostgres();
    url = await postgres.createDatabase();
    const env = { TALARIA_DATABASE_URL: url, API_SERVER_KEY: KEY };
    servers = await Promise.all([1, 2].map(() => HostedServer.start({ env })));
  });
  afterAll(async () => {
    for (const server of servers ?? []) await server[Symbol.asyncDispose]();
    await postgres?.stop();
  });

  test('a file that was uploaded to one is read from the other, and deleted there for both', async () => {
    const [first, second] = servers.map(
      (server) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: KEY, maxRetries: 0 }),
    ) as [OpenAI, OpenAI];
    const bytes = randomBytes(3_500_000);
    const { id } = await first.files.create({ file: await toFile(bytes, 'a.bin'), purpose: 'user_data' });
    expect((await bytesOf(await second.files.content(id))).equals(bytes)).toBe(true);
    const range = await new Api(servers[1]!.url, KEY).request('GET', `/v1/files/${id}/content`, {
      headers: { range: 'bytes=1048575-1048576' },
    });
    expect(range.status).toBe(206);
    expect((await second.files.list()).data).toMatchObject([{ id } as StoredFile]);
    await second.files.delete(id);
    expect(await errorOf(first.files.retrieve(id))).toBeInstanceOf(NotFoundError);
    const db = new pg.Client(url);
    await db.connect();
    await waitFor('no bytes in the database', async () => {
      const { rows } = await db.query(
        'SELECT (SELECT count(*) FROM blobs) + (SELECT count(*) FROM blob_chunks) AS n',
      );
      return rows[0].n === '0';
    });
    await db.end();
  });
});
