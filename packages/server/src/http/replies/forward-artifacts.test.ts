/** Between a real server that asks and one that answers like a peer, and then fails. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, it } from 'vitest';
import type { KnownServer } from '../../journal/peers.ts';
import { PEER_HEADER, PeerSeal } from '../../peers/peer-seal.ts';
import { installErrorHandling } from './errors.ts';
import { createForwardArtifacts } from './forward-artifacts.ts';

const seal = new PeerSeal(randomBytes(32));
const serverId = 'server_a';
const LENGTH = 50_000_000;
let peer: Server;
let app: FastifyInstance;

afterEach(async () => {
  peer.closeAllConnections();
  peer.close();
  await app.close();
});

/** The URL of a file for which the peer answers with `answer`. */
async function fileFrom(
  answer: RequestListener,
  { idleMs, server }: { idleMs?: number; server?: Partial<KnownServer> | undefined } = {},
): Promise<string> {
  peer = createServer((request, response) => {
    const question = { serverId, method: request.method!, path: request.url! };
    response.setHeader(PEER_HEADER, seal.recognize(question, request.headers[PEER_HEADER]) ?? '');
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(peer, 'listening');
  const known: KnownServer = {
    serverId,
    url: `http://127.0.0.1:${(peer.address() as AddressInfo).port}`,
    role: 'all',
    version: '1.0.0',
    maxRuns: 1,
    startedAt: 0,
    seenAt: 0,
    stoppedAt: null,
    ...server,
  };
  app = Fastify({ forceCloseConnections: true });
  installErrorHandling(app, 'not_found', { of: () => undefined });
  const forward = createForwardArtifacts(seal, idleMs);
  app.get('/v1/:run_id/file', (request, reply) => forward(request, reply, { serverId, server: known }));
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/v1/run_1/file`;
}

const head = { 'content-length': LENGTH, 'content-type': 'text/plain', 'x-secret': 'inside', etag: '"1"' };

it('passes the request on, and passes back only the headers of the file', async () => {
  let asked: object = {};
  const url = await fileFrom(({ url: path, headers }, response) => {
    const { range, authorization, cookie } = headers;
    asked = { path, range, authorization, cookie };
    response.writeHead(206, { ...head, 'content-length': 2, 'set-cookie': 'a=b' }).end('ok');
  });
  const headers = { range: 'bytes=0-1', authorization: 'Bearer key', cookie: 'c' };
  const answer = await fetch(`${url}?path=a%20b`, { headers });
  expect(asked).toEqual({ path: '/peers/run_1/file?path=a%20b', range: 'bytes=0-1' });
  expect([answer.status, await answer.text()]).toEqual([206, 'ok']);
  expect(Object.fromEntries(answer.headers)).toMatchObject({ etag: '"1"', 'content-type': 'text/plain' });
  for (const name of ['x-secret', 'set-cookie', PEER_HEADER]) expect(answer.headers.has(name)).toBe(false);
});

it.each([
  ['with escaped letters', '/%76%31/run%5F1/f%69le?path=a'],
  ['as a whole URL', 'http://talaria.example.com/v1/run_1/file?path=a'],
])('understands a path written %s', async (_, path) => {
  const url = await fileFrom((request, response) => response.end(request.url));
  const request = get(url, { path });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect(await text(response)).toBe('/peers/run_1/file?path=a');
});

it.each([
  ['breaks off', (response: { destroy(): void }) => response.destroy()],
  ['stands still', () => {}],
])('cuts off a response that %s', async (_, then) => {
  const url = await fileFrom(
    (_request, response) => {
      response.writeHead(200, head);
      response.write('x', () => then(response));
    },
    { idleMs: 200 },
  );
  const answer = await fetch(url);
  await expect(answer.text()).rejects.toThrow();
});

it("waits for a slow client longer than a peer's response may stall", async () => {
  const idleMs = 300;
  const url = await fileFrom((_, response) => response.writeHead(200, head).end(Buffer.alloc(LENGTH)), {
    idleMs,
  });
  const reader = (await fetch(url)).body!.getReader();
  let { length } = (await reader.read()).value!;
  await new Promise((resolve) => setTimeout(resolve, 4 * idleMs));
  for (let part = await reader.read(); !part.done; part = await reader.read()) length += part.value.length;
  expect(length).toBe(LENGTH);
});

it('does not ask a stopped server, and names it', async () => {
  let asked = 0;
  const url = await fileFrom(() => asked++, { server: { stoppedAt: Date.UTC(2026, 0, 2) } });
  const answer = await fetch(url);
  expect([answer.status, await answer.json()]).toMatchObject([
    503,
    {
      error: {
        code: 'workspace_unavailable',
        message: expect.stringContaining('which was stopped at 2026-01-02T00:00:00.000Z'),
      },
    },
  ]);
  expect(asked).toBe(0);
});
