import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { waitFor } from '../../../../test/support/wait-for.ts';
import { requestPatiently } from './patient-request.ts';

async function serve(body: string) {
  const server = createServer((_, response) => response.end(body));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('an abort when all of the answer has arrived, but its end was not read, throws nothing', async () => {
  await using server = await serve('all of it');
  const uncaught: unknown[] = [];
  const listener = (error: unknown) => uncaught.push(error);
  process.on('uncaughtException', listener);
  try {
    const abort = new AbortController();
    const response = await requestPatiently(server.url, {
      method: 'POST',
      headers: {},
      body: '{}',
      signal: abort.signal,
    });
    await response[Symbol.asyncIterator]().next();
    await waitFor('the whole answer', () => response.complete);
    abort.abort();
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    expect(uncaught).toEqual([]);
  } finally {
    process.off('uncaughtException', listener);
  }
});

test('an abort before the answer rejects with its reason', async () => {
  await using server = await serve('late');
  const reason = new Error('stopped');
  const request = { method: 'GET', headers: {}, body: '', signal: AbortSignal.abort(reason) };
  await expect(requestPatiently(server.url, request)).rejects.toBe(reason);
});
