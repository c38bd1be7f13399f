import { TalariaError } from '@talaria/protocol';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Log } from '../basics/log.ts';
import { QueuePace } from '../basics/queue-pace.ts';
import { type Claim, type Journal, LeaseLostError } from '../journal/journal.ts';
import { Dispatcher } from './dispatcher.ts';
import type { WorkerDependencies } from './run-worker.ts';

const LEASE_MS = 8_000;

/** A store that can be unavailable, has runs as long as the test says, and records when it was asked for runs and for leases. */
class Store {
  away = false;
  readonly queued: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly claimedAt: number[] = [];
  readonly renewedAt: number[] = [];
  readonly journal = {
    watchQueue: () => () => {},
    watchPosts: () => () => {},
    claim: async (_worker: string, _leaseMs: number, limit: number) => {
      this.#note(this.claimedAt);
      return this.queued.splice(0, limit).map(claimOf);
    },
    // The work on a run is to read it until the test ends it.
    readLog: async (runId: string) => {
      await new Promise<void>((resolve) => this.#ends.set(runId, resolve));
      throw new LeaseLostError(runId);
    },
    renew: async () => this.#note(this.renewedAt),
  } as unknown as Journal;

  get working(): string[] {
    return [...this.#ends.keys()];
  }

  end(runId: string): void {
    this.#ends.get(runId)!();
    this.#ends.delete(runId);
  }

  #note(times: number[]): [] {
    if (this.away) throw new TalariaError('store_unavailable');
    times.push(Date.now());
    return [];
  }
}

function claimOf(runId: string): Claim {
  const run = { state: { claims_without_progress: 0, started_at: null } };
  return { runId, epoch: 1, run } as unknown as Claim;
}

let store: Store;
let pace: QueuePace;
let errors: string[];
let dispatcher: Dispatcher;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  store = new Store();
  pace = new QueuePace(Date.now);
  errors = [];
  const note = (_: object, message: string) => errors.push(message);
  const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: note };
  dispatcher = new Dispatcher({
    worker: 'worker_1',
    maxConcurrent: 1,
    maxKeptSandboxes: 1,
    leaseMs: LEASE_MS,
    dependencies: {
      journal: store.journal,
      limits: { maxRunMs: 0 },
      log,
      now: Date.now,
    } as WorkerDependencies,
    pace,
    onClaim: () => {},
  });
  dispatcher.start();
});
afterEach(async () => {
  store.queued.length = 0;
  for (const runId of store.working) store.end(runId);
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

test('only the time in which all workers are busy counts for the pace of the queue', async () => {
  const runs = async (...runIds: string[]) => {
    store.queued.push(...runIds);
    for (const runId of runIds) {
      await vi.advanceTimersByTimeAsync(2_000);
      expect(store.working).toEqual([runId]);
      store.end(runId);
    }
  };
  await runs('one', 'two', 'three');
  expect(pace.retryAfterS()).toBeLessThanOrEqual(3);
  await vi.advanceTimersByTimeAsync(30_000);
  store.queued.push('four', 'five');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(store.working).toEqual(['four']);
  expect(pace.retryAfterS(), 'half a minute without work is no slower queue').toBeLessThanOrEqual(3);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(pace.retryAfterS(), 'a worker that stays busy is').toBeGreaterThanOrEqual(20);
});
