import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Sessions } from '../journal/sessions.ts';
import { SessionRetention } from './session-retention.ts';

const KEPT_MS = 1000;
const INTERVAL_MS = 250;

let unused: number;
let errors: string[];
let retention: SessionRetention | undefined;
const sweep = vi.fn(async (_unusedMs: number, limit: number) => {
  const swept = Math.min(unused, limit);
  unused -= swept;
  return swept;
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  unused = 0;
  errors = [];
  sweep.mockClear();
});
afterEach(async () => {
  await retention?.stop();
  vi.useRealTimers();
});

function start(sessionRetentionMs: number): SessionRetention {
  const note = (_fields: object, message: string) => errors.push(message);
  const log = { debug: note, info: note, warn: note, error: note };
  retention = new SessionRetention({ sessions: { sweep } as unknown as Sessions, sessionRetentionMs, log });
  retention.start();
  return retention;
}

async function pass(): Promise<void> {
  vi.advanceTimersByTime(INTERVAL_MS);
  for (let turn = 0; turn < 40; turn++) await nextTurn();
}

test('deletes everything that is due in one sweep, in small batches', async () => {
  unused = 23;
  start(KEPT_MS);
  await pass();
  expect(unused).toBe(0);
  expect(sweep.mock.calls.every(([unusedMs, limit]) => unusedMs === KEPT_MS && limit <= 20)).toBe(true);
});

test('0 keeps sessions forever', async () => {
  unused = 1;
  start(0);
  await pass();
  expect(sweep).not.toHaveBeenCalled();
});

test('retries later when the store fails', async () => {
  unused = 1;
  sweep.mockRejectedValueOnce(new Error('disk full'));
  start(KEPT_MS);
  await pass();
  expect([unused, errors]).toEqual([1, ['deleting unused sessions failed; it will be retried']]);
  await pass();
  expect(unused).toBe(0);
});

test('a stop ends a sweep after its batch', async () => {
  unused = 100;
  const started = start(KEPT_MS);
  sweep.mockImplementationOnce(async (_unusedMs, limit) => {
    void started.stop();
    return limit;
  });
  await pass();
  expect(sweep).toHaveBeenCalledTimes(1);
});
