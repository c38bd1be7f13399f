import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anchorsOf } from './anchors.ts';
import { compareLines } from './compare-lines.ts';

const PLENTY = 2 ** 25;

/** The lines that stay, as both sides see them, and how many do not. */
function compared(before: readonly number[], after: readonly number[], maxSteps = PLENTY) {
  const { removed, added, steps } = compareLines(Int32Array.from(before), Int32Array.from(after), maxSteps);
  return {
    stays: before.filter((_, index) => removed[index] === 0),
    remains: after.filter((_, index) => added[index] === 0),
    changes: removed.filter(Boolean).length + added.filter(Boolean).length,
    steps,
  };
}

/** The length of the longest sequence that both have, by the book. */
function longestShared(a: readonly number[], b: readonly number[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const one of a) {
    const next = [0];
    for (const [y, other] of b.entries()) {
      next.push(one === other ? row[y]! + 1 : Math.max(row[y + 1]!, next[y]!));
    }
    row = next;
  }
  return row.at(-1)!;
}

const lines = (max: number) => fc.array(fc.nat({ max }), { maxLength: 60 });
const pairs = fc.oneof(
  fc.tuple(lines(2), lines(2)),
  fc.tuple(lines(8), lines(8)),
  fc.tuple(lines(100), lines(100)),
);

test('the lines that stay are the same on both sides', () => {
  fc.assert(
    fc.property(pairs, fc.constantFrom(0, 1, 20, PLENTY), ([before, after], maxSteps) => {
      const { stays, remains } = compared(before, after, maxSteps);
      expect(stays).toEqual(remains);
    }),
    { numRuns: 2000 },
  );
});

test('no more lines change than have to, where no line is an anchor', () => {
  fc.assert(
    fc.property(fc.tuple(lines(3), lines(3)), ([before, after]) => {
      fc.pre(anchorsOf(Int32Array.from(before), Int32Array.from(after)).length === 0);
      const { changes } = compared(before, after);
      expect(changes).toBe(before.length + after.length - 2 * longestShared(before, after));
    }),
    { numRuns: 1000 },
  );
});

test('anchors are lines that occur once, in an order that both files share', () => {
  expect(anchorsOf(Int32Array.of(1, 9, 2, 3, 9, 4), Int32Array.of(4, 1, 3, 2, 9))).toEqual([
    { x: 0, y: 1 },
    { x: 3, y: 2 },
  ]);
});

test('a large block that moves is one removal and one addition', () => {
  const all = Array.from({ length: 20_000 }, (_, index) => index);
  const moved = [...all.slice(5_000), ...all.slice(0, 5_000)];
  expect(compared(all, moved).changes).toBe(10_000);
});

const LONG = 100_000;
const random = (seed: number) => () => {
  // A generator of its own, so that a failure can be repeated.
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
  return seed / 0x8000_0000;
};
const coins = (seed: number) => {
  const next = random(seed);
  return Array.from({ length: LONG }, () => Math.floor(next() * 2));
};

test.each<[string, number[], number[]]>([
  [
    'nothing in common',
    Array.from({ length: LONG }, (_, i) => i),
    Array.from({ length: LONG }, (_, i) => -i - 1),
  ],
  [
    'the opposite order',
    Array.from({ length: LONG }, (_, i) => i),
    Array.from({ length: LONG }, (_, i) => LONG - i),
  ],
  ['two lines at random', coins(1), coins(2)],
  [
    'another rhythm',
    Array.from({ length: LONG }, (_, i) => i % 2),
    Array.from({ length: LONG }, (_, i) => i % 3),
  ],
])('%s takes no more than the steps it may take', (_, before, after) => {
  const maxSteps = 1_000_000;
  const { stays, remains, steps } = compared(before, after, maxSteps);
  expect(stays).toEqual(remains);
  expect(steps).toBeLessThanOrEqual(maxSteps + LONG);
});
