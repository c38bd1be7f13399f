/** A table per question of docs/performance.md: what each act cost at each size. */
import { table } from '../marked-part.ts';
import { figure } from './figure.ts';
import type { Growth } from './results.ts';

export function growthTable({ of, points }: Growth): string {
  const measured = points.filter(({ skipped }) => skipped === undefined);
  const acts = Object.keys(measured[0]?.ms ?? {});
  const heads = [of, ...measured.map(({ size }) => size.toLocaleString('en')), 'growth'];
  const rows = acts.map((act) => {
    const line = measured.map(({ size, ms }) => ({ size, ms: ms[act]! }));
    return [act, ...line.map(({ ms }) => `${figure(ms)} ms`), exponent(line)];
  });
  const skipped = points.flatMap(({ size, skipped: reason }) =>
    reason === undefined ? [] : [`\n${size.toLocaleString('en')} were not measured: ${reason}.\n`],
  );
  return table(heads, rows) + skipped.join('');
}

/**
 * The power of the size that the cost grows with, from the second largest size to the largest: there the work weighs more
 * than what every act costs anyway. 0 is constant, 1 is linear.
 */
function exponent(line: readonly { size: number; ms: number }[]): string {
  const [before, last] = line.slice(-2);
  if (before === undefined || last === undefined) return '';
  const power = Math.log(last.ms / before.ms) / Math.log(last.size / before.size);
  return power.toFixed(1).replace('-0.0', '0.0');
}
