import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Servers } from '../journal/peers.ts';
import { Presence } from './presence.ts';

const self = { serverId: 'server_a', role: 'all', version: '1.0.0', maxRuns: 10 };
let told: string[];
let logged: string[];
let store: Partial<Servers>;

beforeEach(() => {
  vi.useFakeTimers();
  [told, logged] = [[], []];
  store = {
    announce: async ({ url }) => told.push(`announced at ${url}`),
    renew: async () => told.push('renewed') > 0,
    leave: async (_, startedAt) => void told.push(`left ${startedAt}`),
    forget: async () => {},
  };
});
afterEach(() => vi.useRealTimers());

function presence(): Presence {
  const note = (_: unknown, message: string) => logged.push(message);
  const log = { info: note, warn: note, error: note } as never;
  return new Presence({ servers: store as Servers, self, log });
}

it('announces the server when it starts, while it lives and when it ends', async () => {
  const server = presence();
  await server.start('http://a');
  await vi.advanceTimersByTimeAsync(10_000);
  await server.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toEqual(['announced at http://a', 'renewed', 'renewed', 'left 1']);
  expect(logged).toEqual([]);
});

it('starts while the store is unavailable, logs it once, and announces itself when the store is back', async () => {
  const { announce } = store;
  store.announce = () => Promise.reject(new Error('away'));
  const server = presence();
  await server.start('http://a');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(logged).toHaveLength(1);
  store.announce = announce!;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(told).toEqual(['announced at http://a']);
  await server.stop();
});

it('logs once that another server uses its id', async () => {
  store.renew = async () => false;
  const server = presence();
  await server.start('http://a');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(logged).toEqual([expect.stringContaining('another server goes by the id of this one')]);
  await server.stop();
});

it('ends even if the store cannot be told', async () => {
  store.leave = () => Promise.reject(new Error('away'));
  const server = presence();
  await server.start('http://a');
  await server.stop();
  expect(logged).toEqual([expect.stringContaining('could not be told that this one ends')]);
});

it('does not wait for an unavailable store to announce its end', async () => {
  store.renew = () => Promise.reject(new Error('away'));
  const server = presence();
  await server.start('http://a');
  await vi.advanceTimersByTimeAsync(5_000);
  await server.stop();
  expect(told).toEqual(['announced at http://a']);
});
