import { expect, test } from 'vitest';
import { AtATime } from './at-a-time.ts';

test('runs no more than the limit at a time, in order of arrival, whether or not they fail', async () => {
  const atATime = new AtATime(2);
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const running = ends.map(({ promise }, i) =>
    atATime.run(() => {
      begun.push(i);
      return promise;
    }),
  );
  await expect.poll(() => begun).toEqual([0, 1]);
  ends[1]!.reject(new Error('failed'));
  await expect(running[1]).rejects.toThrow('failed');
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  for (const { resolve } of ends) resolve();
  await Promise.allSettled(running);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  await atATime.run(async () => begun.push(5));
  expect(begun).toHaveLength(6);
});
