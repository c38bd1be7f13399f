import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import { freeWhenSent } from './free-when-sent.ts';

const CHUNK_BYTES = 256 * 1024;

const chunksOf = (count: number): Buffer[] =>
  Array.from({ length: count }, () => {
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    randomBytes(CHUNK_BYTES).copy(chunk);
    return chunk;
  });

/** Replies with the chunks; resolves with the reply at the client, before anything of it is read. */
async function reply(
  chunks: Iterable<Buffer>,
  headers: Record<string, number> = {},
): Promise<AsyncDisposable & { answer: IncomingMessage }> {
  const server = createServer((_request, response: ServerResponse) => {
    response.writeHead(200, headers);
    freeWhenSent(response);
    Readable.from(chunks, { objectMode: false }).pipe(response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const [answer] = await once(get({ port: (server.address() as AddressInfo).port }), 'response');
  const close = async (): Promise<void> => {
    answer.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { answer, [Symbol.asyncDispose]: close };
}

const freed = (chunks: readonly Buffer[]): number => chunks.filter((chunk) => chunk.length === 0).length;

test('every byte arrives, and the memory of what was sent is free', async () => {
  const chunks = chunksOf(40);
  const expected = Buffer.concat(chunks);
  await using sent = await reply(chunks);
  expect((await buffer(sent.answer)).equals(expected)).toBe(true);
  expect(freed(chunks)).toBeGreaterThan(30);
});

test('what a reader has not taken yet keeps its memory', async () => {
  const chunks = chunksOf(200);
  const expected = Buffer.concat(chunks);
  await using sent = await reply(chunks);
  // The system takes some chunks for a reader that does not read. Then the reply stalls.
  let before = -1;
  await vi.waitFor(
    () => {
      const now = freed(chunks);
      const stalled = now === before;
      before = now;
      expect(stalled).toBe(true);
    },
    { interval: 200, timeout: 30_000 },
  );
  expect(freed(chunks)).toBeLessThan(chunks.length);
  expect((await buffer(sent.answer)).equals(expected)).toBe(true);
});

test('every byte of small chunks arrives at a slow reader, also where the memory of earlier ones is used again', async () => {
  const expected = randomBytes(8 * 1024 * 1024);
  function* copies(): Generator<Buffer> {
    for (let at = 0; at < expected.length; ) {
      const part = expected.subarray(at, at + randomInt(4 * 1024, 16 * 1024));
      const chunk = Buffer.allocUnsafeSlow(part.length);
      part.copy(chunk);
      at += part.length;
      yield chunk;
    }
  }
  // With a length there is nothing between the chunks: the unsent bytes are exactly those of the last chunks.
  await using sent = await reply(copies(), { 'content-length': expected.length });
  let at = 0;
  for await (const part of sent.answer) {
    expect(expected.subarray(at, at + part.length).equals(part)).toBe(true);
    at += part.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(at).toBe(expected.length);
});

test('a chunk that is a part of a larger buffer stays', async () => {
  const [whole, ...others] = chunksOf(40);
  const parts = [whole!.subarray(0, 100_000), whole!.subarray(100_000)];
  const expected = Buffer.concat([whole!, ...others]);
  await using sent = await reply([...parts, ...others]);
  expect((await buffer(sent.answer)).equals(expected)).toBe(true);
  // So the parts were sent, too.
  expect(freed(others)).toBeGreaterThan(0);
  expect(parts.map(({ length }) => length)).toEqual([100_000, CHUNK_BYTES - 100_000]);
});
