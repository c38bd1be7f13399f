import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Journal } from '../journal/journal.ts';
import { Retention } from './retention.ts';

/** As long as a sweep of a short retention is apart. */
const INTERVAL_MS = 250;

let due: string[];
let discarded: string[];
let stuck: Set<string>;
let errors: string[];
let retention: Retention;
const evict = vi.fn(async (_retentionMs: number, limit: number) => due.splice(0, limit));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  due = [];
  discarded = [];
  stuck = new Set();
  errors = [];
  evict.mockClear();
  const note = (_fields: object, message: string) => errors.push(message);
  retention = new Retention({
    journal: { evict } as unknown as Journal,
    retentionMs: 1000,
    async discardWorkspace(runId) {
      if (stuck.has(runId)) throw new Error('a slot holds it');
      discarded.push(runId);
    },
    log: { debug: note, info: note, warn: note, error: note },
  });
  retention.start();
});
afterEach(async () => {
  await retention.stop();
  vi.useRealTimers();
});

async function sweep(): Promise<void> {
  vi.advanceTimersByTime(INTERVAL_MS);
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

test('everything that is due goes in one sweep, in small batches', async () => {
  due = Array.from({ length: 45 }, (_, n) => `run_${n}`);
  await sweep();
  expect(discarded).toHaveLength(45);
  expect(evict.mock.calls.map(([retentionMs, limit]) => [retentionMs, limit])).toEqual([
    [1000, 20],
    [1000, 20],
    [1000, 20],
  ]);
});

test('a workspace that cannot be deleted is tried again, and holds up no other', async () => {
  due = ['run_a', 'run_b', 'run_c'];
  stuck.add('run_b');
  await sweep();
  expect(discarded).toEqual(['run_a', 'run_c']);
  expect(errors).toHaveLength(1);
  due = ['run_d'];
  stuck.clear();
  await sweep();
  expect(discarded.sort()).toEqual(['run_a', 'run_b', 'run_c', 'run_d']);
  await sweep();
  expect(discarded).toHaveLength(4);
});

test('a store that fails is tried again at the next sweep', async () => {
  due = ['run_a'];
  evict.mockRejectedValueOnce(new Error('disk full'));
  await sweep();
  expect(discarded).toEqual([]);
  expect(errors).toHaveLength(1);
  await sweep();
  expect(discarded).toEqual(['run_a']);
});

test('sweeps do not overlap, and none begins after the stop', async () => {
  const slow = Promise.withResolvers<string[]>();
  evict.mockReturnValueOnce(slow.promise);
  await sweep();
  await sweep();
  expect(evict).toHaveBeenCalledTimes(1);
  const stopped = retention.stop();
  slow.resolve([]);
  await stopped;
  await sweep();
  expect(evict).toHaveBeenCalledTimes(1);
});
