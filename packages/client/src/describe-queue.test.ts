import { expect, test } from 'vitest';
import { describeQueue } from './describe-queue.ts';

test.each([
  [1, '1st'],
  [2, '2nd'],
  [3, '3rd'],
  [4, '4th'],
  [11, '11th'],
  [12, '12th'],
  [21, '21st'],
  [113, '113th'],
  [1000, '1000th'],
])('a run at position %i is %s in line', (position, place) => {
  expect(describeQueue({ position, waiting_for: 'worker' })).toBe(`${place} in line, all workers are busy`);
});

test('a reason that this client does not know is shown as it is', () => {
  expect(describeQueue({ position: 1, waiting_for: 'moon' as 'worker' })).toBe('1st in line, moon');
});
