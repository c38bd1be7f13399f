/** `client.files` with a real server, over a good and a bad network. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { Talaria } from '@talaria/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorOf } from '../support/error-of.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

const KEY = 'sk-client-files';
const BYTES = randomBytes(3_000_000);

let server: HostedServer;
let client: Talaria;

beforeAll(async () => {
  server = await HostedServer.start({ env: { API_SERVER_KEY: KEY, TALARIA_MAX_FILE_BYTES: '4000000' } });
  client = new Talaria({ baseUrl: server.url, apiKey: KEY });
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function* pieces(bytes = BYTES) {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000);
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

describe('create', () => {
  test.each([
    ['bytes', () => new Uint8Array(BYTES)],
    ['a buffer', () => new Uint8Array(BYTES).buffer],
    ['a blob', () => new Blob([BYTES])],
    ['a web stream', () => Readable.toWeb(Readable.from(pieces())) as ReadableStream<Uint8Array>],
    ['a stream of Node', () => Readable.from(pieces())],
    ['an async iterable', () => pieces()],
  ])('takes %s', async (_, make) => {
    const file = await client.files.create({ file: make(), filename: 'früh "1".bin', purpose: 'vision' });
    expect(file).toMatchObject({ bytes: BYTES.length, filename: 'früh "1".bin', purpose: 'vision' });
    expect((await bytesOf(await client.files.content(file.id))).equals(BYTES)).toBe(true);
    await client.files.delete(file.id);
  });

  test('takes a string, and the name of a File; otherwise the name is file', async () => {
    const named = await client.files.create({ file: new File(['hello'], 'hello.txt') });
    expect(named).toMatchObject({ filename: 'hello.txt', bytes: 5, purpose: 'user_data' });
    expect(await client.files.create({ file: 'hello' })).toMatchObject({ filename: 'file' });
    expect(await client.files.create({ file: pieces(Buffer.from('x')) })).toMatchObject({ filename: 'file' });
  });

  test('reports the refusal of a file that is too large, also in the middle of a stream', async () => {
    const tooLarge = { status: 413, code: 'file_too_large' };
    const large = Buffer.alloc(4_000_001);
    expect(await errorOf(client.files.create({ file: large }))).toMatchObject(tooLarge);
    async function* endless() {
      for (let i = 0; i < 2_000; i++) yield Buffer.alloc(64 * 1024);
    }
    expect(await errorOf(client.files.create({ file: endless() }))).toMatchObject(tooLarge);
  });

  test('ends with the failure of its source, and leaves no file', async () => {
    const before = (await client.files.list()).data.length;
    async function* broken() {
      yield* pieces();
      throw new Error('the disk is gone');
    }
    expect(String(await errorOf(client.files.create({ file: broken() })))).toContain('the disk is gone');
    expect((await client.files.list()).data).toHaveLength(before);
  });

  test('can be aborted', async () => {
    const before = (await client.files.list()).data.length;
    const stopping = new AbortController();
    async function* endless() {
      yield BYTES;
      stopping.abort(new Error('enough'));
      await new Promise(() => {});
    }
    const created = client.files.create({ file: endless() }, { signal: stopping.signal });
    expect(await errorOf(created)).toMatchObject({ message: 'enough' });
    expect((await client.files.list()).data).toHaveLength(before);
  });
});

test('lists all pages, and deletes while it lists', async () => {
  for (let i = 0; i < 5; i++) await client.files.create({ file: `${i}`, purpose: 'batch' });
  const names: number[] = [];
  for await (const { id, bytes } of client.files.list({ limit: 2, purpose: 'batch' })) {
    names.push(bytes);
    await client.files.delete(id);
  }
  expect(names).toHaveLength(5);
  expect((await client.files.list({ purpose: 'batch' })).data).toEqual([]);
});

test('reads a part, and everything over a network that cuts connections', async () => {
  const { id } = await client.files.create({ file: new Blob([BYTES]) });
  const part = await client.files.content(id, { start: 1_000_000, end: 1_000_010 });
  expect((await bytesOf(part)).equals(BYTES.subarray(1_000_000, 1_000_010))).toBe(true);
  await using proxy = await UnreliableProxy.start(() => server.url, 1);
  const far = new Talaria({ baseUrl: proxy.url, apiKey: KEY });
  const response = await far.files.content(id);
  expect((await bytesOf(response)).equals(BYTES)).toBe(true);
  await client.files.delete(id);
});

test('another key finds nothing, and a missing file is reported', async () => {
  expect(await errorOf(client.files.get(`file-${'0'.repeat(32)}`))).toMatchObject({
    status: 404,
    code: 'file_not_found',
  });
  expect(await errorOf(client.files.content('nothing'))).toMatchObject({ code: 'file_not_found' });
  expect(() => client.files.get('..')).toThrow(TypeError);
  await waitFor('the list', async () => Array.isArray((await client.files.list()).data));
});
