/** Against real servers that answer like peers, and in wrong ways. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { type AskPeerOptions, askPeer } from './ask-peer.ts';
import { PEER_HEADER, PeerSeal } from './peer-seal.ts';

const seal = new PeerSeal(randomBytes(32));
const serverId = 'server_a';
let peer: Server | undefined;

afterEach(() => {
  peer?.closeAllConnections();
  peer?.close();
});

async function listen(answer: RequestListener): Promise<string> {
  peer = createServer(answer).listen(0, '127.0.0.1');
  await once(peer, 'listening');
  return `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
}

/** Answers with the right seal. */
const sealed =
  (answer: RequestListener): RequestListener =>
  (request, response) => {
    const question = { serverId, method: request.method!, path: request.url! };
    response.setHeader(PEER_HEADER, seal.recognize(question, request.headers[PEER_HEADER]) ?? '');
    answer(request, response);
  };

function ask(url: string, options: Partial<AskPeerOptions> = {}) {
  return askPeer({ seal, server: { serverId, url }, method: 'GET', path: '/peers/x?y=1', ...options });
}

it('gets the answer of the intended server, whatever its status', async () => {
  const url = await listen(
    sealed((request, response) => response.writeHead(418).end(`${request.url} ${request.headers.range}`)),
  );
  const answer = await ask(url, { headers: { range: 'bytes=1-' } });
  expect(answer.statusCode).toBe(418);
  expect(await text(answer)).toBe('/peers/x?y=1 bytes=1-');
});

it('seals the path as it is sent', async () => {
  const url = await listen(sealed((request, response) => response.end(request.url)));
  const answer = await ask(url, { path: '/peers/x?path=it\'s "here"' });
  expect(await text(answer)).toBe('/peers/x?path=it%27s%20%22here%22');
});

it('follows no redirect', async () => {
  const url = await listen(sealed((_, response) => response.writeHead(302, { location: '/y' }).end()));
  expect((await ask(url)).statusCode).toBe(302);
});

it('accepts nothing from a different server at that address', async () => {
  const url = await listen((_, response) => response.writeHead(200).end('mine'));
  await expect(ask(url)).rejects.toThrow('another one answers at its address');
});

it('waits for a server that says it is busy, but not for a silent one', async () => {
  const url = await listen(
    sealed((request, response) => {
      if (request.url === '/peers/silent') return;
      let left = 6;
      const timer = setInterval(() => {
        left -= 1;
        if (left > 0) return response.writeProcessing();
        clearInterval(timer);
        response.end('at last');
      }, 250);
    }),
  );
  expect(await text(await ask(url, { silenceMs: 1_000 }))).toBe('at last');
  await expect(ask(url, { path: '/peers/silent', silenceMs: 300 })).rejects.toThrow(
    'it said nothing for 0.3 s',
  );
});

it('says why there is no connection', async () => {
  const url = await listen(() => {});
  peer!.close();
  await once(peer!, 'close');
  await expect(ask(url)).rejects.toThrow(/ECONNREFUSED/);
});

it('closes the connection when it is aborted, before and during the answer', async () => {
  let closed = 0;
  const url = await listen(
    sealed((request, response) => {
      response.once('close', () => closed++);
      if (request.url !== '/peers/never') response.write('first');
    }),
  );
  const early = new AbortController();
  const waiting = ask(url, { path: '/peers/never', signal: early.signal });
  await expect.poll(() => new Promise((resolve) => peer!.getConnections((_, n) => resolve(n)))).toBe(1);
  early.abort();
  await expect(waiting).rejects.toThrow(/abort/);
  const late = new AbortController();
  const answer = await ask(url, { signal: late.signal });
  late.abort();
  await expect(text(answer)).rejects.toThrow(/abort/);
  await expect.poll(() => closed).toBe(2);
});
