import { expect, test } from 'vitest';
import { mapAhead } from './map-ahead.ts';

async function all<T>(results: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const result of results) found.push(result);
  return found;
}

test('results come in order, whichever is ready first, and only so many are worked on', async () => {
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const done: number[] = [];
  let [working, most] = [0, 0];
  const results = all(
    mapAhead([0, 1, 2, 3], 2, async (item) => {
      most = Math.max(most, ++working);
      await gates[item]!.promise;
      working--;
      done.push(item);
      return item;
    }),
  );
  for (const item of [1, 0, 3, 2]) {
    gates[item]!.resolve();
    await expect.poll(() => done).toContain(item);
  }
  expect(await results).toEqual([0, 1, 2, 3]);
  expect(done).toEqual([1, 0, 3, 2]);
  expect(most).toBe(2);
});

test('a failure comes in its turn, and ends the work', async () => {
  const begun: number[] = [];
  const seen: number[] = [];
  const failing = async () => {
    const results = mapAhead([0, 1, 2, 3, 4, 5], 2, async (item) => {
      begun.push(item);
      if (item === 1) throw new Error('no');
      return item;
    });
    for await (const result of results) seen.push(result);
  };
  await expect(failing()).rejects.toThrow('no');
  expect(seen).toEqual([0]);
  expect(begun).toEqual([0, 1, 2]);
});
