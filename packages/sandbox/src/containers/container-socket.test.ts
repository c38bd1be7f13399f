import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LISTENING, reachSocket, SOCKET_NAME } from './container-socket.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'talaria-socket-test-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const never = new AbortController().signal;

test('a socket that appears later is connected to', async () => {
  const reaching = reachSocket(dir, never);
  const server = createServer((socket) => socket.end('hello')).listen(join(dir, SOCKET_NAME));
  const reached = await reaching;
  const heard = await reached.connect().setEncoding('utf8').toArray();
  expect(heard.join('')).toBe('hello');
  await reached.close();
  server.close();
});

test('a socket that the runtime does not share is reported at once, with what to change', async () => {
  await writeFile(join(dir, SOCKET_NAME + LISTENING), '');
  await expect(reachSocket(dir, never)).rejects.toThrow('--host-uds=all');
});

test('a file that is not a socket is refused', async () => {
  await writeFile(join(dir, SOCKET_NAME), '');
  await expect(reachSocket(dir, never)).rejects.toThrow('another kind of file');
});
