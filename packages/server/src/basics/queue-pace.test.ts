import { expect, test } from 'vitest';
import { QueuePace } from './queue-pace.ts';

function pace() {
  let now = 1_000_000;
  const queue = new QueuePace(() => now);
  return {
    queue,
    after(ms: number) {
      now += ms;
    },
  };
}

/** A queue in which a place has become free after each of these times. */
function crowdedPace(...intervalsMs: number[]) {
  const made = pace();
  made.queue.crowded();
  for (const ms of intervalsMs) {
    made.after(ms);
    made.queue.tick();
  }
  return made;
}

const times = (count: number, ms: number): number[] => new Array<number>(count).fill(ms);

test('before any place became free while somebody waited it is a guess', () => {
  const { queue, after } = pace();
  expect(queue.retryAfterS()).toBe(5);
  queue.tick();
  after(60_000);
  queue.tick();
  expect(queue.retryAfterS()).toBe(5);
});

test('a steady queue gives its pace in whole seconds, at least one', () => {
  for (const [interval, seconds] of [
    [10, 1],
    [900, 1],
    [2500, 3],
    [20_000, 20],
  ] as const) {
    expect(crowdedPace(...times(30, interval)).queue.retryAfterS()).toBe(seconds);
  }
});

test('a place further back takes proportionally longer, up to a bound', () => {
  const { queue } = crowdedPace(...times(30, 2500));
  expect(queue.retryAfterS(4)).toBe(10);
  expect(queue.retryAfterS(1000)).toBe(300);
});

test('idle time does not count', () => {
  const { queue, after } = crowdedPace(...times(30, 1500));
  queue.quiet();
  after(30_000);
  expect(queue.retryAfterS()).toBe(2);
  // Somebody comes and finds a place; it is free again, and nobody wanted it meanwhile.
  queue.tick();
  after(30_000);
  // All places are taken in an instant, and one more asks.
  queue.crowded();
  expect(queue.retryAfterS()).toBe(2);
  after(1500);
  queue.tick();
  expect(queue.retryAfterS(10)).toBe(15);
});

test('a second word that it is crowded does not restart the clock', () => {
  const { queue, after } = pace();
  queue.crowded();
  after(20_000);
  queue.crowded();
  queue.tick();
  expect(queue.retryAfterS()).toBe(20);
});

test('a stalled queue is as slow as its stall is long, up to a bound', () => {
  const { queue, after } = crowdedPace(100, 100);
  after(30_000);
  expect(queue.retryAfterS()).toBe(30);
  expect(queue.retryAfterS(11), 'the ten behind it follow at the usual pace').toBe(31);
  after(10_000_000);
  expect(queue.retryAfterS()).toBe(300);
});

test('one long gap does not outweigh many short ones for long', () => {
  expect(crowdedPace(60_000, ...times(40, 100)).queue.retryAfterS()).toBe(1);
});

test('places that become free together count as one each', () => {
  const batches = Array.from({ length: 10 }, () => [10_000, ...times(9, 0)]).flat();
  const { queue } = crowdedPace(...batches);
  expect(queue.retryAfterS(10)).toBeLessThanOrEqual(20);
});
