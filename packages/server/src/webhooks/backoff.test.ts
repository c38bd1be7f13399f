import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DELAY_MAX_MS } from '../journal/outbox.ts';
import { retryDelayMs } from './backoff.ts';

const DAY_MS = 24 * 3600 * 1000;

/** The delays of a message that nobody ever accepts. */
function delays(random: () => number): number[] {
  const found: number[] = [];
  for (let age = 0; ; ) {
    const delay = retryDelayMs(found.length + 1, age, random());
    if (delay === undefined) return found;
    found.push(delay);
    age += delay;
  }
}

it('delays grow from seconds to hours', () => {
  expect(delays(() => 0.5).map((ms) => ms / 1000)).toEqual([
    5, 20, 80, 320, 1280, 5120, 14_400, 14_400, 14_400, 14_400, 14_400,
  ]);
});

it('a message is given up within a day, after about a dozen attempts, whatever the jitter', () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (jitter) => {
      const found = delays(() => jitter.next().value);
      const total = found.reduce((sum, delay) => sum + delay, 0);
      expect(total).toBeLessThanOrEqual(DAY_MS);
      expect(total).toBeGreaterThan(DAY_MS - 5 * 3600 * 1000);
      expect(found.length).toBeGreaterThanOrEqual(9);
      expect(found.length).toBeLessThanOrEqual(14);
      expect(Math.min(...found)).toBeGreaterThanOrEqual(3750);
      expect(Math.max(...found)).toBeLessThan(DELAY_MAX_MS);
    }),
  );
});

it('an old message is not retried, however few attempts it had', () => {
  expect(retryDelayMs(1, DAY_MS, 0)).toBeUndefined();
});
