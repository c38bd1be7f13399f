/** What depends on the process: which role serves slots, and what a failing sandbox looks like from outside. */
import { SandboxError } from '@talaria/sandbox';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { Engine } from '../../engine/engine.ts';
import { ClientSlots } from '../../slots/client-slots.ts';
import { FakeBackend } from '../../slots/testing/fake-backend.ts';
import { noReport } from '../../telemetry/facts.ts';
import { createHttpServer } from '../http-server.ts';
import type { SlotSource } from './slots.ts';

const HEADERS = { host: '127.0.0.1' };

function serve(slots: SlotSource | undefined) {
  return createHttpServer({
    engine: { draining: false } as unknown as Engine,
    role: 'work',
    maxBodiesBytes: 256_000_000,
    apiKeys: [],
    corsOrigins: [],
    version: '0.0.0',
    logger: pino({ level: 'silent' }),
    mcpServers: () => [],
    metrics: { contentType: 'text/plain' } as never,
    report: noReport,
    checks: async () => ({}),
    peers: undefined,
    slots,
    api: undefined,
  });
}

function fakeSlots(backend: FakeBackend): SlotSource {
  const slots = new ClientSlots({
    backend: backend.asBackend,
    maxSlots: 1,
    maxSlotsPerOwner: 1,
    waitMs: 1_000,
    idleMs: 60_000,
    keepFilesMs: 60_000,
    log: pino({ level: 'silent' }),
  });
  const { workspaces } = backend.asBackend;
  return { slots, files: backend.asBackend, workspaces, mask: (text) => text.replaceAll('s3cret', '***') };
}

test('a process with a sandbox serves slots, also if it serves nothing else to clients', async () => {
  await using http = asDisposable(serve(fakeSlots(new FakeBackend())));
  const acquired = await http.inject({ method: 'POST', url: '/v1/slots', headers: HEADERS });
  expect(acquired.json()).toMatchObject({ state: 'acquired' });
  const other = await http.inject({ url: '/v1/runs', headers: HEADERS });
  expect([other.statusCode, other.json().error.code]).toEqual([421, 'no_api']);
});

test.each([
  ['no_sandbox', 421, 'no_sandbox'],
  ['slots_unavailable', 404, 'slots_unavailable'],
  [undefined, 421, 'no_api'],
] as const)('a process without slots (%s) answers %i', async (source, status, code) => {
  await using http = asDisposable(serve(source));
  for (const url of ['/v1/slots', '/v1/slots/slot_1/artifacts']) {
    const answer = await http.inject({ url, headers: HEADERS });
    expect([answer.statusCode, answer.json().error.code]).toEqual([status, code]);
  }
});

test('a sandbox that is down gives 503 with its reason, without secrets', async () => {
  const backend = new FakeBackend();
  backend.broken = true;
  backend.reason = 'The daemon refused the token s3cret.';
  await using http = asDisposable(serve(fakeSlots(backend)));
  const answer = await http.inject({ method: 'POST', url: '/v1/slots', headers: HEADERS });
  expect(answer.statusCode).toBe(503);
  expect(answer.headers['retry-after']).toBe('5');
  expect(answer.json().error).toMatchObject({
    code: 'sandbox_unavailable',
    message: 'The daemon refused the token ***.',
  });
});

test('a slot that could not be cleaned is an error that says so, and nothing to repeat', async () => {
  const backend = new FakeBackend();
  backend.unclosable = new SandboxError('slot_not_closed', 'The slot inner_1 could not be cleaned.');
  await using http = asDisposable(serve(fakeSlots(backend)));
  const { id } = (await http.inject({ method: 'POST', url: '/v1/slots', headers: HEADERS })).json();
  const release = () => http.inject({ method: 'POST', url: `/v1/slots/${id}/release`, headers: HEADERS });
  const answer = await release();
  expect(answer.statusCode).toBe(500);
  expect(answer.headers['retry-after']).toBeUndefined();
  expect(answer.json().error).toMatchObject({
    code: 'slot_not_closed',
    message: expect.stringMatching(/^The slot is released, but/),
  });
  expect((await release()).statusCode).toBe(404);
});

function asDisposable<T extends { close(): PromiseLike<unknown> }>(http: T): T & AsyncDisposable {
  return Object.assign(http, {
    [Symbol.asyncDispose]: async () => {
      await http.close();
    },
  });
}
