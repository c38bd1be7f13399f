import { expect, it } from 'vitest';
import { checkShare, isInShare } from './share.ts';

it('each call belongs to exactly one process, and the shares are about equal', () => {
  const counts = [0, 0, 0];
  for (let i = 0; i < 3_000; i++) {
    const takers = [0, 1, 2].filter((index) => isInShare(`run_1 call_${i}`, { index, count: 3 }));
    for (const index of takers) counts[index]!++;
  }
  expect(counts.reduce((sum, count) => sum + count)).toBe(3_000);
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});

it('without a share every process runs all calls', () => {
  expect(isInShare('any', undefined)).toBe(true);
});

it.each([
  [{ index: 2, count: 2 }],
  [{ index: -1, count: 2 }],
  [{ index: 0.5, count: 2 }],
  [{ index: 0, count: 0 }],
])('%j is not a share', (share) => {
  expect(() => checkShare(share)).toThrow(TypeError);
});
