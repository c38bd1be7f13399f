/** Calls that take too long or fail. A server stands in for an agent that answers and does nothing. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ContainerDirectory } from '../containers/container-directory.ts';
import { GREETING } from '../containers/relay/reach-by-relay.ts';
import { serverFrame } from '../web-socket/testing/server-frames.ts';
import { NomadApi } from './nomad-api.ts';
import { NomadDriver } from './nomad-driver.ts';

const allocations = (status: 'pending' | 'running') => [{ ID: 'a', CreateIndex: 1, ClientStatus: status }];
const ENDED = { exited: true, result: { exit_code: 0 } };
const GREETED = { stdout: { data: Buffer.from(GREETING).toString('base64') } };
let status: 'pending' | 'running' = 'pending';
/** How many execs it still reports as ended at once. */
let endedExecs = 0;
/** How many calls it still answers with a reset, as an agent with too many connections may. */
let resets = 0;
/** The header of the last call. */
let authorization: string | undefined;
const agent = createServer(({ method, url = '', socket, headers }, response) => {
  authorization = headers.authorization;
  const answer = (body: object) => response.setHeader('x-nomad-index', 7).end(JSON.stringify(body));
  if (method !== 'GET') return answer({ EvalID: 'one' });
  if (url.startsWith('/v1/status/leader')) return resets-- > 0 ? socket.resetAndDestroy() : answer({});
  if (url.startsWith('/v1/evaluation')) return answer({ Status: 'complete' });
  // The next query waits for a change, which never comes.
  if (url.includes('index=0')) answer(allocations(status));
});
agent.on('upgrade', ({ headers }, socket) => {
  const accepted = createHash('sha1').update(
    `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
  );
  const payload = JSON.stringify(endedExecs-- > 0 ? ENDED : GREETED);
  socket
    .on('error', () => {})
    .write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted.digest('base64')}\r\n\r\n`,
    );
  socket.write(serverFrame({ type: 'text', payload }));
});
beforeAll(() => new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  agent.closeAllConnections();
  agent.close();
});

function driver(name: 'docker' | 'exec' | 'raw_exec' = 'raw_exec'): NomadDriver {
  const { port } = agent.address() as AddressInfo;
  const api = new NomadApi({ address: `http://127.0.0.1:${port}` });
  const settings = {
    program: ['sandbox'],
    datacenters: ['*'],
    constraints: [],
    cpuMhz: 1,
    memoryMb: 1,
    diskMb: 1,
  };
  return new NomadDriver(api, { ...settings, driver: name }, { runningWithinMs: 300, endedWithinMs: 400 });
}

const REQUEST = {
  ...{ name: 'talaria-1', labels: {}, nested: true, slots: 1, allowNetwork: false, limits: {}, backend: {} },
  directory: new ContainerDirectory('/nowhere'),
};

test('a proxy before the agent gets the user and the password', async () => {
  const { port } = agent.address() as AddressInfo;
  const api = new NomadApi({ address: `http://127.0.0.1:${port}`, httpAuth: 'ada:pass:word' });
  await api.leader();
  expect(authorization).toBe(`Basic ${Buffer.from('ada:pass:word').toString('base64')}`);
});

test('the error of a start says that its task did not run in time', async () => {
  await expect(driver().start(REQUEST, new AbortController().signal)).rejects.toMatchObject({
    code: 'container_failed',
    message: 'its task did not run within 0.3 s',
  });
});

test("an aborted start rejects with the caller's reason", async () => {
  const reason = new Error('enough');
  await expect(driver().start(REQUEST, AbortSignal.abort(reason))).rejects.toBe(reason);
});

test('the error of a removal says that its task did not end in time', async () => {
  await expect(driver().remove('talaria-1')).rejects.toThrow('its task did not end within 0.4 s');
});

test.each(['raw_exec', 'exec'] as const)(
  'a task of the driver %s must isolate its commands: it has a network',
  (name) => {
    expect(driver(name).mustNest).toBe(`a task of Nomad’s ${name} driver has the network of its node`);
    expect(driver('docker').mustNest).toBeUndefined();
  },
);

test('a call that ends in a reset is repeated', async () => {
  resets = 3;
  const { port } = agent.address() as AddressInfo;
  await new NomadApi({ address: `http://127.0.0.1:${port}` }).leader();
  expect(resets).toBe(-1);
});

test.each([
  ['not begun yet is repeated', 3, true],
  ['never begun is an error in the end', Number.POSITIVE_INFINITY, false],
])('an exec that Docker has %s', async (_, times, isReached) => {
  [status, endedExecs] = ['running', times];
  const nomad = driver('docker');
  const { signal } = new AbortController();
  await nomad.start(REQUEST, signal);
  const reaching = nomad.reach(REQUEST, signal);
  if (!isReached) return await expect(reaching).rejects.toThrow('the relay ended at once');
  await (await reaching).close();
  expect(endedExecs).toBe(-1);
});
