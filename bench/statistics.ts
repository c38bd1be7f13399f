/** Computes figures from rounds. */

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The smallest value that `share` of all values do not exceed; the mean of the two middle ones for an even half. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('No values were measured');
  const sorted = Float64Array.from(values).sort();
  const rank = share * sorted.length;
  const at = Math.max(0, Math.ceil(rank) - 1);
  if (share !== 0.5 || !Number.isInteger(rank)) return sorted[at]!;
  return (sorted[at]! + sorted[at + 1]!) / 2;
}

/**
 * Measures every side once per round, in turns; every other round runs in reverse, so that no side always follows the
 * other's garbage.
 */
export async function alternate<Side extends string, Figure>(
  rounds: number,
  sides: Record<Side, () => Promise<Figure>>,
): Promise<Record<Side, Figure[]>> {
  const names = Object.keys(sides) as Side[];
  const figures = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Side, Figure[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      // The garbage of one measurement must not be collected during the next.
      globalThis.gc?.();
      figures[name].push(await sides[name]());
    }
  }
  return figures;
}
