import dns from 'node:dns';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { FarReceiver } from '../../../../test/support/far-receiver.ts';
import { patientFetch } from './patient-fetch.ts';

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/x?y=1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('sends method, path, headers and body; gives status, headers and body back', async () => {
  await using server = await serve(async (req, res) => {
    let body = '';
    for await (const chunk of req.setEncoding('utf8')) body += chunk;
    const { authorization, 'content-length': length } = req.headers;
    res.writeHead(418, { 'x-one': 'a', 'set-cookie': ['b=1', 'c=2'] });
    res.end(JSON.stringify({ method: req.method, url: req.url, authorization, length, body }));
  });
  const response = await patientFetch(server.url, {
    method: 'POST',
    headers: { Authorization: 'Bearer k' },
    body: 'größer',
  });
  expect(response.status).toBe(418);
  expect(response.ok).toBe(false);
  expect(response.headers.get('x-one')).toBe('a');
  expect(response.headers.getSetCookie()).toEqual(['b=1', 'c=2']);
  expect(await response.json()).toEqual({
    method: 'POST',
    url: '/v1/x?y=1',
    authorization: 'Bearer k',
    length: '8',
    body: 'größer',
  });
});

test('a piece of the body can be read while the rest is still on its way', async () => {
  const gate = Promise.withResolvers<void>();
  await using server = await serve(async (_, res) => {
    res.write('first');
    await gate.promise;
    res.end('second');
  });
  const reader = (await patientFetch(server.url)).body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first');
  gate.resolve();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('second');
  expect((await reader?.read())?.done).toBe(true);
});

test('a response without a body', async () => {
  await using server = await serve((_, res) => res.writeHead(204).end());
  expect((await patientFetch(server.url)).body).toBeNull();
});

test('an abort before the headers rejects, an abort after them breaks the body', async () => {
  const arrived = Promise.withResolvers<void>();
  await using silent = await serve(() => arrived.resolve());
  const first = new AbortController();
  const pending = patientFetch(silent.url, { signal: first.signal });
  await arrived.promise;
  first.abort();
  await expect(pending).rejects.toMatchObject({ name: 'AbortError' });

  await using streaming = await serve((_, res) => res.write('x'));
  const second = new AbortController();
  const response = await patientFetch(streaming.url, { signal: second.signal });
  second.abort();
  await expect(response.text()).rejects.toThrow();

  await expect(patientFetch(silent.url, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'AbortError',
  });
});

test('cancelling the body closes the connection', async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await serve((_, res) => {
    res.on('close', () => closed.resolve());
    res.write('x');
  });
  await (await patientFetch(server.url)).body?.cancel();
  await closed.promise;
});

test.each(['', 'all of it'])('a body that has arrived whole can still be cancelled: "%s"', async (text) => {
  await using server = await serve((_, res) => res.end(text));
  const response = await patientFetch(server.url);
  await response.body?.cancel();
  // What the response still gives comes in a later turn, and nobody would catch what it throws.
  await setImmediate();
  await expect(patientFetch(server.url).then((next) => next.text())).resolves.toBe(text);
});

test('a lost connection has its system error code', async () => {
  await using server = await serve((req) => req.socket.destroy());
  await expect(patientFetch(server.url)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('an answer in another protocol is a lost connection, and is not waited for', async () => {
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
  await using server = await serve((req) => req.socket.write(upgrade));
  await expect(patientFetch(server.url)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('waits for a distant provider, also when another address of its name leads nowhere', async () => {
  using provider = await FarReceiver.start();
  using _lookup = vi.spyOn(dns, 'lookup').mockImplementation(provider.lookup as typeof dns.lookup);
  const pending = patientFetch(provider.url);
  await provider.arrive();
  expect((await pending).status).toBe(204);
});

test('a body that an abort cuts off is an error, also if all of it had arrived', async () => {
  await using server = await serve(async (_, res) => {
    for (let i = 0; i < 20; i++) {
      res.write('x'.repeat(100));
      await setImmediate();
    }
    res.end();
  });
  const abort = new AbortController();
  const response = await patientFetch(server.url, { signal: abort.signal });
  const reader = response.body!.getReader();
  await reader.read();
  // The rest arrives unread.
  for (let turn = 0; turn < 200; turn++) await setImmediate();
  const reason = new Error('stopped');
  abort.abort(reason);
  const rest = async () => {
    while (!(await reader.read()).done);
  };
  await expect(rest()).rejects.toBe(reason);
});
