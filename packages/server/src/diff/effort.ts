/** How much a request may cost, decided by what it asks for: so the same request gets the same answer on every machine. */
import type { FileChange } from './changed-files.ts';

/** How many files one answer has at most: a listing is held in memory. */
export const FILES_MAX = 10_000;
/** How many bytes of files are compared for one answer. */
const COMPARED_MAX_BYTES = 256 * 1024 * 1024;

/** The steps that all comparisons of an answer share; they take some seconds. */
const TOTAL_STEPS = 2 ** 30;
/** The most steps for one comparison; they take less than a second. */
const MOST_STEPS = 2 ** 25;
/** The fewest steps for one comparison: enough for hundreds of differences in a file. */
const LEAST_STEPS = 2 ** 18;

/** The steps for each of this many comparisons. */
export function stepsFor(comparisons: number): number {
  return Math.min(MOST_STEPS, Math.max(LEAST_STEPS, Math.floor(TOTAL_STEPS / Math.max(1, comparisons))));
}

/** Says of one change after the other whether it may still be compared. */
export function compareBudget(): (change: Pick<FileChange, 'before' | 'after'>) => boolean {
  let bytes = 0;
  return ({ before, after }) => {
    bytes += (before?.size ?? 0) + (after?.size ?? 0);
    return bytes <= COMPARED_MAX_BYTES;
  };
}
