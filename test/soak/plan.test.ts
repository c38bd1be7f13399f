/** The plan of a soak depends on its seed alone. */
import { expect, test } from 'vitest';
import { Plan, type WorkItem } from './plan.ts';

const itemsOf = (seed: number, round: number) =>
  Array.from({ length: 200 }, (_, number) => new Plan(seed, round).item(number));

test('the same seed and round give the same work and the same kills, in whichever order they are asked for', () => {
  const [one, other] = [new Plan(7, 3), new Plan(7, 3)];
  const numbers = Array.from({ length: 50 }, (_, number) => number);
  const backwards = numbers.toReversed().map((number) => [other.kill(0, number), other.item(number)]);
  expect(numbers.map((number) => [one.kill(0, number), one.item(number)])).toEqual(backwards.reverse());
});

test('other seeds, rounds and targets give others', () => {
  expect(itemsOf(7, 0)).not.toEqual(itemsOf(8, 0));
  expect(itemsOf(7, 0)).not.toEqual(itemsOf(7, 1));
  const plan = new Plan(7, 0);
  const kills = (target: number) => Array.from({ length: 20 }, (_, number) => plan.kill(target, number));
  expect(kills(0)).not.toEqual(kills(1));
});

test('a round has every kind of work, and every call has a mark of its own', () => {
  const items = itemsOf(7, 0);
  const kinds: WorkItem['kind'][] = ['fork', 'job', 'run', 'session', 'slot', 'upload'];
  expect([...new Set(items.map(({ kind }) => kind))].sort()).toEqual(kinds);
  const marks = [...JSON.stringify(items).matchAll(/"mark":"(\w+)"/g)].map(([, mark]) => mark);
  expect(new Set(marks).size).toBe(marks.length);
});
