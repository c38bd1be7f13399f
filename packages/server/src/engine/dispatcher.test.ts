import { TalariaError } from '@talaria/protocol';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Log } from '../basics/log.ts';
import type { Journal } from '../journal/journal.ts';
import { Dispatcher } from './dispatcher.ts';
import type { WorkerDependencies } from './run-worker.ts';

const LEASE_MS = 8_000;

/** A store that can be unavailable, and records when it was asked for runs and for leases. */
class Store {
  away = false;
  readonly claimedAt: number[] = [];
  readonly renewedAt: number[] = [];
  readonly journal = {
    watchQueue: () => () => {},
    claim: async () => this.#note(this.claimedAt),
    renew: async () => this.#note(this.renewedAt),
  } as unknown as Journal;

  #note(times: number[]): [] {
    if (this.away) throw new TalariaError('store_unavailable');
    times.push(Date.now());
    return [];
  }
}

let store: Store;
let errors: string[];
let dispatcher: Dispatcher;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  store = new Store();
  errors = [];
  const note = (_: object, message: string) => errors.push(message);
  const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: note };
  dispatcher = new Dispatcher({
    worker: 'worker_1',
    maxConcurrent: 1,
    maxKeptSandboxes: 1,
    leaseMs: LEASE_MS,
    dependencies: { journal: store.journal, log, now: Date.now } as WorkerDependencies,
    onClaim: () => {},
  });
  dispatcher.start();
});
afterEach(async () => {
  await dispatcher.drain(0);
  vi.useRealTimers();
});

test('looks for runs of dead owners every second', async () => {
  await vi.advanceTimersByTimeAsync(3_500);
  expect(store.claimedAt).toEqual([0, 1_000, 2_000, 3_000]);
});

test('claims nothing after an outage of the store until other servers had time to renew their leases', async () => {
  store.away = true;
  await vi.advanceTimersByTimeAsync(20_500);
  store.away = false;
  await vi.advanceTimersByTimeAsync(10_000);
  const [, first] = store.claimedAt;
  expect(store.renewedAt).toEqual([21_000]);
  expect(first).toBe(21_000 + LEASE_MS / 2);
  expect(errors).toHaveLength(1);
});

test('a short failure of the store delays nothing', async () => {
  store.away = true;
  await vi.advanceTimersByTimeAsync(1_500);
  store.away = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(store.claimedAt).toEqual([0, 2_000]);
});
