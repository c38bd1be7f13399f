import { expect, test } from 'vitest';
import { poolLimits } from './container-options.ts';

test('a health check waits as long as the driver allows, unless an option sets its timeout', () => {
  expect(poolLimits({}).healthTimeoutS).toBe(5);
  expect(poolLimits({}, { answersWithinMs: 20_000 }).healthTimeoutS).toBe(20);
  expect(poolLimits({ healthTimeoutS: 2 }, { answersWithinMs: 20_000 }).healthTimeoutS).toBe(2);
});
