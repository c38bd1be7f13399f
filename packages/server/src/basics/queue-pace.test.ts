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

test('before any run has left the queue it is a guess', () => {
  const { queue } = pace();
  expect(queue.retryAfterS()).toBe(5);
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
    const { queue, after } = pace();
    for (let n = 0; n < 30; n++) {
      queue.tick();
      after(interval);
    }
    expect(queue.retryAfterS()).toBe(seconds);
  }
});

test('a place further back takes proportionally longer', () => {
  const { queue, after } = pace();
  for (let n = 0; n < 30; n++) {
    queue.tick();
    after(2500);
  }
  expect(queue.retryAfterS(4)).toBe(10);
  expect(queue.retryAfterS(1000)).toBe(300);
});

test('a stalled queue is as slow as its stall is long, up to a bound', () => {
  const { queue, after } = pace();
  queue.tick();
  after(100);
  queue.tick();
  after(30_000);
  expect(queue.retryAfterS()).toBe(30);
  after(10_000_000);
  expect(queue.retryAfterS()).toBe(300);
});

test('one long gap does not outweigh many short ones for long', () => {
  const { queue, after } = pace();
  queue.tick();
  after(60_000);
  queue.tick();
  for (let n = 0; n < 40; n++) {
    after(100);
    queue.tick();
  }
  expect(queue.retryAfterS()).toBe(1);
});
