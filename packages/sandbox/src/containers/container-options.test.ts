import { expect, test } from 'vitest';
import { poolLimits } from './container-options.ts';

test('a check waits for as long as the containers of a driver may take, unless somebody says otherwise', () => {
  expect(poolLimits({}).healthTimeoutS).toBe(5);
  expect(poolLimits({}, { answersWithinMs: 20_000 }).healthTimeoutS).toBe(20);
  expect(poolLimits({ healthTimeoutS: 2 }, { answersWithinMs: 20_000 }).healthTimeoutS).toBe(2);
});
