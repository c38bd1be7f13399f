import { expect, test } from 'vitest';
import { Lanes } from './lanes.ts';

test('no more than so many at a time, in the order in which they came, whatever becomes of them', async () => {
  const lanes = new Lanes(2);
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const passing = ends.map(({ promise }, i) =>
    lanes.pass(() => {
      begun.push(i);
      return promise;
    }),
  );
  await expect.poll(() => begun).toEqual([0, 1]);
  ends[1]!.reject(new Error('failed'));
  await expect(passing[1]).rejects.toThrow('failed');
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  for (const { resolve } of ends) resolve();
  await Promise.allSettled(passing);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  await lanes.pass(async () => begun.push(5));
  expect(begun).toHaveLength(6);
});
