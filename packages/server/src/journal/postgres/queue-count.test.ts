import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Transaction } from './database.ts';
import { QueueCount } from './queue-count.ts';

const LIMITS = { maxQueued: 1_000_000, ownerShare: 0 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Asks in a new transaction of a database in which this many runs wait, and counts how often the runs are counted. */
function queueOf(queued: number): { counts: number; ask(): Promise<number> } {
  const queue = new QueueCount('server');
  const asked = {
    counts: 0,
    ask: () => {
      const answer = (sql: string) => {
        if (!sql.includes('GROUP BY owner')) return [{ room: 0 }];
        asked.counts += 1;
        return [{ owner: 'anna', queued }];
      };
      const tx: Transaction = {
        now: 0,
        rows: async <T extends object>(sql: string) => answer(sql) as T[],
        send() {},
      };
      return queue.excess(tx, 'anna', LIMITS, () => {});
    },
  };
  return asked;
}

it.each([
  { queued: 10, servesMs: 100 },
  { queued: 40_000, servesMs: 400 },
  { queued: 300_000, servesMs: 1_000 },
])('a count of $queued waiting runs serves for $servesMs ms', async ({ queued, servesMs }) => {
  const queue = queueOf(queued);
  await queue.ask();
  vi.advanceTimersByTime(servesMs);
  await queue.ask();
  expect(queue.counts).toBe(1);
  vi.advanceTimersByTime(1);
  await queue.ask();
  expect(queue.counts).toBe(2);
});

it('every transaction counts where less than half of the queue is free', async () => {
  const queue = queueOf(500_000);
  await queue.ask();
  await queue.ask();
  expect(queue.counts).toBe(2);
});
