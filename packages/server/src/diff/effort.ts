/** How much a request may cost, decided by what it asks for: so the same request gets the same answer on every machine. */

/** Of all comparisons together; some seconds. */
const TOTAL_STEPS = 2 ** 30;
/** What a comparison may take alone; less than a second. */
const MOST_STEPS = 2 ** 25;
/** Enough for hundreds of differences in a file. */
const LEAST_STEPS = 2 ** 18;

/** The steps for each of this many comparisons. */
export function stepsFor(comparisons: number): number {
  return Math.min(MOST_STEPS, Math.max(LEAST_STEPS, Math.floor(TOTAL_STEPS / Math.max(1, comparisons))));
}
