import { randomBytes } from 'node:crypto';
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
async function reply(chunks: readonly Buffer[]): Promise<AsyncDisposable & { answer: IncomingMessage }> {
  const server = createServer((_request, response: ServerResponse) => {
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

test('a chunk that is a part of a larger buffer stays', async () => {
  const [whole] = chunksOf(1);
  const parts = [whole!.subarray(0, 100_000), whole!.subarray(100_000)];
  await using sent = await reply(parts);
  expect((await buffer(sent.answer)).equals(whole!)).toBe(true);
  expect(parts.map(({ length }) => length)).toEqual([100_000, CHUNK_BYTES - 100_000]);
});
