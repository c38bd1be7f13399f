/**
 * Lines that occur once in each of two files, in the longest order that both share (the idea of patience diff). They are certain to
 * belong together, and cut a long comparison into short ones: a block that moved stays one block.
 */
import type { NumberedLines } from './compare-lines.ts';

/** Where a line is in both files. */
export interface Anchor {
  x: number;
  y: number;
}

export function anchorsOf(a: NumberedLines, b: NumberedLines): Anchor[] {
  const places = new Map<number, Anchor | undefined>();
  for (const [x, line] of a.entries()) places.set(line, places.has(line) ? undefined : { x, y: -1 });
  for (const [y, line] of b.entries()) {
    const place = places.get(line);
    if (place === undefined) continue;
    if (place.y === -1) place.y = y;
    else places.set(line, undefined);
  }
  // A map keeps the order in which its keys came: by x.
  return longestRising(
    [...places.values()].filter((place) => place !== undefined && place.y >= 0) as Anchor[],
  );
}

/** The most of them whose `y` rises. */
function longestRising(anchors: readonly Anchor[]): Anchor[] {
  /** By length: which anchor ends the rising sequence of that length with the smallest `y`. */
  const ends: number[] = [];
  /** By anchor: the one before it in its sequence. */
  const previous = new Int32Array(anchors.length);
  for (const [index, { y }] of anchors.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (anchors[ends[middle]!]!.y < y) low = middle + 1;
      else high = middle;
    }
    previous[index] = ends[low - 1] ?? -1;
    ends[low] = index;
  }
  const found: Anchor[] = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index]!) found.push(anchors[index]!);
  return found.reverse();
}
