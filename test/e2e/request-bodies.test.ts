/**
 * Unfinished requests cannot use up the memory: the bytes of bodies that the server holds are limited, in total and for
 * each key.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { ServerWithModel } from './server-with-model.ts';

const KEYS = { API_SERVER_KEYS: 'ada:key-of-ada-0123456789,eve:key-of-eve-0123456789' };
const BODY_BYTES = 4_000_000;

/** A request that declares a body, and sends most of it. */
function beginPost(server: HostedServer, key: string): { socket: Socket; answer: () => string } {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  socket.write(
    `POST /v1/runs HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`,
  );
  socket.write('x'.repeat(BODY_BYTES - 10));
  return { socket, answer: () => answer };
}

test('one key can hold half of it, and is told to retry; there is room when its requests are over', async () => {
  await using server = await HostedServer.start({ env: { ...KEYS, TALARIA_MAX_BODIES_MB: '20' } });
  const [ada, eve] = [
    new Api(server.url, 'key-of-ada-0123456789'),
    new Api(server.url, 'key-of-eve-0123456789'),
  ];
  // Two of them fit into ten megabytes.
  const posts = Array.from({ length: 6 }, () => beginPost(server, 'key-of-ada-0123456789'));
  const refused = () => posts.filter(({ answer }) => answer().startsWith('HTTP/1.1 429'));
  await waitFor('four to be refused', () => refused().length === 4);
  expect(refused()[0]!.answer()).toContain('retry-after: 1');
  expect(refused()[0]!.answer()).toContain('too_many_bodies');
  expect((await ada.post('/v1/runs', { input: 'x'.repeat(BODY_BYTES) })).status).toBe(429);
  expect((await eve.post('/v1/runs', { input: 'hi' })).status).toBe(202);
  for (const { socket } of posts) socket.destroy();
  await waitFor(
    'room',
    async () => (await ada.post('/v1/runs', { input: 'x'.repeat(BODY_BYTES) })).status === 202,
  );
});

test('all keys together are limited to the whole, with 503', async () => {
  await using server = await HostedServer.start({ env: { ...KEYS, TALARIA_MAX_BODIES_MB: '10' } });
  const keys = ['key-of-ada-0123456789', 'key-of-eve-0123456789'];
  // Two of them fit into the whole.
  const posts = [keys[0]!, keys[1]!, keys[0]!, keys[1]!].map((key) => beginPost(server, key));
  await waitFor(
    'two to be refused',
    () => posts.filter(({ answer }) => answer().startsWith('HTTP/1.1 503')).length === 2,
  );
  for (const { socket } of posts) socket.destroy();
});

test('a body of unknown length has room even if several keys share the minimum', async () => {
  await using server = await HostedServer.start({ env: { ...KEYS, TALARIA_MAX_BODIES_MB: '10' } });
  const answer = await fetch(`${server.url}/v1/runs`, {
    method: 'POST',
    headers: { authorization: 'Bearer key-of-ada-0123456789', 'content-encoding': 'gzip' },
    body: gzipSync('{"input":"hi"}'),
  });
  expect(answer.status).toBe(202);
});

test('the announced body of a GET takes no room while its stream is open', async () => {
  const key = 'key-of-ada-0123456789';
  await using subject = await ServerWithModel.start({ ...KEYS, TALARIA_MAX_BODIES_MB: '20' });
  const { server } = subject;
  const ada = new Api(server.url, key);
  const run_id = await ada.create(script([{ text: 'Wait', hang: 'mid' }]));
  const headers = { authorization: `Bearer ${key}`, 'content-length': '9000000' };
  const watching = request(`${server.url}/v1/runs/${run_id}/events`, { headers });
  watching.on('error', () => {});
  watching.flushHeaders();
  const [answer] = (await once(watching, 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(200);
  expect((await ada.post('/v1/runs', { input: 'x'.repeat(BODY_BYTES) })).status).toBe(202);
  watching.destroy();
});
