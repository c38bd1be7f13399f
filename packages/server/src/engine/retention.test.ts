import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { EvictOptions, Journal } from '../journal/journal.ts';
import { Retention, type RetentionOptions } from './retention.ts';

/** The interval between sweeps of a short retention. */
const INTERVAL_MS = 250;

let due: string[];
let discarded: string[];
let stuck: Set<string>;
let unkept: Set<string>;
let errors: string[];
let removed: string[];
let blobsFail: boolean;
let retention: Retention;
let heads: number;
const expired = vi.fn(async (_retentionMs: number, limit: number) => due.slice(0, limit));
const evict = vi.fn(async (runIds: readonly string[], _options: EvictOptions) => {
  // Records are deleted last: an evicted run has no workspace any more.
  expect(discarded).toEqual(expect.arrayContaining([...runIds]));
  due = due.filter((runId) => !runIds.includes(runId));
  return runIds.map((runId) => `blob of ${runId}`);
});
/** The runs that become due for room. */
let givenUp: string[];
const enforce = vi.fn(async () => {
  due.push(...givenUp);
  return givenUp.splice(0).length > 0;
});
const sweepHeads = vi.fn(async (_keptMs: number, limit: number) => {
  const swept = Math.min(heads, limit);
  heads -= swept;
  return swept;
});
const remove = async (blobIds: readonly string[]) => {
  if (blobsFail) throw new Error('disk full');
  removed.push(...blobIds);
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  due = [];
  discarded = [];
  stuck = new Set();
  unkept = new Set();
  errors = [];
  removed = [];
  blobsFail = false;
  heads = 0;
  givenUp = [];
  for (const mock of [expired, evict, enforce, sweepHeads]) mock.mockClear();
  start({ retentionMs: 1000, headRetentionMs: 2000 });
});
afterEach(async () => {
  await retention.stop();
  vi.useRealTimers();
});

function start(times: Pick<RetentionOptions, 'retentionMs' | 'headRetentionMs'>): void {
  const note = (_fields: object, message: string) => errors.push(message);
  retention = new Retention({
    journal: { kept: { expired }, evict, heads: { sweep: sweepHeads } } as unknown as Journal,
    blobs: { remove } as unknown as BlobStore,
    ...times,
    async beforeEviction(runId) {
      if (unkept.has(runId)) throw new Error('the store is busy');
    },
    async discardWorkspace(runId) {
      expect(unkept).not.toContain(runId);
      if (stuck.has(runId)) throw new Error('a slot holds it');
      discarded.push(runId);
    },
    disk: { enforce },
    log: { debug: note, info: note, warn: note, error: note },
  });
  retention.start();
}

async function sweep(): Promise<void> {
  vi.advanceTimersByTime(INTERVAL_MS);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}

test('clears everything that is due in one sweep, in small batches', async () => {
  due = Array.from({ length: 45 }, (_, n) => `run_${n}`);
  await sweep();
  expect(discarded).toHaveLength(45);
  expect(due).toEqual([]);
  expect(expired.mock.calls.map(([retentionMs, limit]) => [retentionMs, limit])).toEqual([
    [1000, 20],
    [1000, 20],
    [1000, 20],
  ]);
});

test('removes the contents that only evicted runs needed, and leaves them to the sweep if that fails', async () => {
  due = ['run_a'];
  await sweep();
  expect(removed).toEqual(['blob of run_a']);
  due = ['run_b'];
  blobsFail = true;
  await sweep();
  expect(due).toEqual([]);
  expect(errors).toHaveLength(1);
});

test('retries a workspace that cannot be deleted, and does not delay the others', async () => {
  due = ['run_a', 'run_b', 'run_c'];
  stuck.add('run_b');
  await sweep();
  expect(discarded).toEqual(['run_a', 'run_c']);
  expect(errors).toHaveLength(1);
  expect(due).toEqual(['run_b']);
  due.push('run_d');
  stuck.clear();
  await sweep();
  expect(discarded.sort()).toEqual(['run_a', 'run_b', 'run_c', 'run_d']);
  await sweep();
  expect(discarded).toHaveLength(4);
});

test('keeps a run whole until everything that outlives it is saved', async () => {
  due = ['run_a', 'run_b'];
  unkept.add('run_a');
  await sweep();
  expect(discarded).toEqual(['run_b']);
  expect(due).toEqual(['run_a']);
  unkept.clear();
  await sweep();
  expect(due).toEqual([]);
});

test('any number of workspaces that cannot be deleted delay no other', async () => {
  due = Array.from({ length: 60 }, (_, n) => `run_${n}`);
  stuck = new Set(due.slice(0, 45));
  await sweep();
  expect(discarded).toEqual(Array.from({ length: 15 }, (_, n) => `run_${n + 45}`));
  expect(due).toHaveLength(45);
});

test('retries at the next sweep when the store fails', async () => {
  due = ['run_a'];
  expired.mockRejectedValueOnce(new Error('disk full'));
  await sweep();
  expect(discarded).toEqual([]);
  expect(errors).toHaveLength(1);
  await sweep();
  expect(discarded).toEqual(['run_a']);
});

test('sweeps do not overlap, and none begins after the stop', async () => {
  const slow = Promise.withResolvers<string[]>();
  expired.mockReturnValueOnce(slow.promise);
  await sweep();
  await sweep();
  expect(expired).toHaveBeenCalledTimes(1);
  const stopped = retention.stop();
  slow.resolve([]);
  await stopped;
  await sweep();
  expect(expired).toHaveBeenCalledTimes(1);
});

test('the store is told how long heads are kept', async () => {
  due = ['run_a'];
  await sweep();
  expect(evict.mock.calls).toEqual([[['run_a'], { headRetentionMs: 2000 }]]);
  expect(sweepHeads).toHaveBeenCalledWith(2000, expect.any(Number));
});

test('runs that are to go for room go in the same sweep, after those whose time is over', async () => {
  due = ['run_old'];
  givenUp = ['run_a', 'run_b'];
  await sweep();
  expect(discarded).toEqual(['run_old', 'run_a', 'run_b']);
  expect(due).toEqual([]);
  enforce.mockRejectedValueOnce(new Error('disk full'));
  heads = 1;
  await sweep();
  expect(errors).toHaveLength(1);
  expect(heads).toBe(0);
});

test('deletes all heads that are due in one sweep, also when runs cannot be evicted', async () => {
  heads = 450;
  expired.mockRejectedValueOnce(new Error('disk full'));
  await sweep();
  expect(heads).toBe(0);
  expect(errors).toHaveLength(1);
  sweepHeads.mockRejectedValueOnce(new Error('disk full'));
  due = ['run_a'];
  await sweep();
  expect(due).toEqual([]);
  expect(errors).toHaveLength(2);
});
