/**
 * Which lines have to be removed from one file, and which added, to make another of it.
 *
 * Between lines that certainly belong together (anchors.ts), the greedy algorithm of Myers (An O(ND) Difference Algorithm, 1986)
 * finds the fewest lines. It takes time by the number of lines times the number of differences, and memory by the square of the
 * differences. So both are bounded, by counted steps and not by a clock: the same files give the same answer on every machine. A
 * stretch with more differences than `MAX_EDITS` is compared part by part, each from where the last one got furthest; that is no
 * longer the fewest lines. What is left when the steps are used up is replaced as a whole. The answer is right in each case.
 *
 * It is our own because `diff`, which the web page uses, makes an object for every step: 3 000 differences in 100 000 lines took ten
 * times as long. And at its limits (edits, or a clock) it gives no answer at all.
 */
import { anchorsOf } from './anchors.ts';

/** The memory of one part is 4 bytes times half the square of it: 8 MB. */
const MAX_EDITS = 2048;
/** No path ends on this diagonal. */
const NONE = -1;

/** A line is a number; equal lines have the same number. */
export type NumberedLines = Int32Array;

export interface LineChanges {
  /** By the index of a line in the first file: 1 if it is not in the second. */
  removed: Uint8Array;
  /** The same for the second file. */
  added: Uint8Array;
  /** How many steps it took; it may exceed `maxSteps` by one run through the lines. */
  steps: number;
}

export function compareLines(before: NumberedLines, after: NumberedLines, maxSteps: number): LineChanges {
  const removed = new Uint8Array(before.length);
  const added = new Uint8Array(after.length);
  const { start, ends } = sharedEnds(before, after);
  const anchors = anchorsOf(before, after).filter(({ x }) => x >= start && x < ends.before);
  let steps = 0;
  let [x, y] = [start, start];
  for (const anchor of [...anchors, { x: ends.before, y: ends.after }]) {
    const gap = { before: before.subarray(x, anchor.x), after: after.subarray(y, anchor.y) };
    const marks = { removed: removed.subarray(x, anchor.x), added: added.subarray(y, anchor.y) };
    steps += compareGap(gap, marks, maxSteps - steps);
    [x, y] = [anchor.x + 1, anchor.y + 1];
  }
  return { removed, added, steps };
}

/** Marks what changes in it; returns how many steps it took. */
function compareGap(
  { before, after }: { before: NumberedLines; after: NumberedLines },
  marks: Pick<LineChanges, 'removed' | 'added'>,
  maxSteps: number,
): number {
  // A line that the other side does not have cannot stay. Without it the answer is the same, and mostly soon found.
  const old = sharedLines(before, after, marks.removed);
  const now = sharedLines(after, before, marks.added);
  const a = old.map((index) => before[index]!);
  const b = now.map((index) => after[index]!);
  let steps = 0;
  for (let [x, y] = [0, 0]; x < a.length || y < b.length; ) {
    const part = comparePart(a.subarray(x), b.subarray(y), maxSteps - steps);
    for (const index of part.removed) marks.removed[old[x + index]!] = 1;
    for (const index of part.added) marks.added[now[y + index]!] = 1;
    steps += part.steps;
    x += part.x;
    y += part.y;
  }
  return steps;
}

/** How far both are equal from the start, and where their equal ends begin. */
function sharedEnds(before: NumberedLines, after: NumberedLines) {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  const ends = { before: before.length, after: after.length };
  while (ends.before > start && ends.after > start && before[ends.before - 1] === after[ends.after - 1]) {
    ends.before--;
    ends.after--;
  }
  return { start, ends };
}

/** The indices of the lines that the other side has, too; the others are marked. */
function sharedLines(lines: NumberedLines, others: NumberedLines, marks: Uint8Array): Int32Array {
  const known = new Set(others);
  const found = new Int32Array(lines.length);
  let count = 0;
  for (const [index, line] of lines.entries()) {
    if (known.has(line)) found[count++] = index;
    else marks[index] = 1;
  }
  return found.subarray(0, count);
}

interface Part {
  removed: Iterable<number>;
  added: Iterable<number>;
  /** How far it got. */
  x: number;
  y: number;
  steps: number;
}

/**
 * A path goes through a grid: to the right removes a line of `a`, down adds a line of `b`, and a diagonal keeps a line of both.
 * `reached[edits + 1]` says for each diagonal `k = x - y` how far to the right a path with that many edits gets. The diagonal `k` is
 * at the index `(k + edits) / 2 + 1`, with room for a neighbour on both sides. `reached[0]` lets the first path enter at the corner.
 */
function comparePart(a: NumberedLines, b: NumberedLines, maxSteps: number): Part {
  const { length: width } = a;
  const { length: height } = b;
  if (width === 0 || height === 0 || maxSteps <= 0) {
    return { removed: a.keys(), added: b.keys(), x: width, y: height, steps: 0 };
  }
  const reached: Int32Array[] = [Int32Array.of(NONE, 0)];
  let [steps, best, bestK, bestEdits] = [0, -1, 0, 0];
  search: for (let edits = 0; edits <= MAX_EDITS; edits++) {
    const last = reached[edits]!;
    const now = new Int32Array(edits + 3).fill(NONE);
    reached.push(now);
    for (let index = 1; index <= edits + 1; index++) {
      const k = 2 * (index - 1) - edits;
      let x = Math.max(byRemoval(last, index, width), byAddition(last, index, k, height));
      steps++;
      if (x === NONE) continue;
      while (x < width && x - k < height && a[x] === b[x - k]) {
        x++;
        steps++;
      }
      now[index] = x;
      if (2 * x - k > best) [best, bestK, bestEdits] = [2 * x - k, k, edits];
      if (best === width + height || steps > maxSteps) break search;
    }
  }
  const x = (best + bestK) / 2;
  return { ...pathTo(bestK, bestEdits, reached, width, height), x, y: x - bestK, steps };
}

/** Where the best path enters the diagonal `k` with one edit more: from the left, */
function byRemoval(last: Int32Array, index: number, width: number): number {
  const left = last[index - 1]!;
  return left === NONE || left === width ? NONE : left + 1;
}

/** or from above. */
function byAddition(last: Int32Array, index: number, k: number, height: number): number {
  const above = last[index]!;
  return above === NONE || above - k > height ? NONE : above;
}

function pathTo(
  end: number,
  edits: number,
  reached: readonly Int32Array[],
  width: number,
  height: number,
): Pick<Part, 'removed' | 'added'> {
  const removed: number[] = [];
  const added: number[] = [];
  for (let [k, left] = [end, edits]; left > 0; left--) {
    const last = reached[left]!;
    const index = (k + left) / 2 + 1;
    const removal = byRemoval(last, index, width);
    const addition = byAddition(last, index, k, height);
    if (removal >= addition) {
      removed.push(removal - 1);
      k--;
    } else {
      added.push(addition - k - 1);
      k++;
    }
  }
  return { removed, added };
}
