/**
 * A row of the table: what was measured, its floor, and the aim.
 *
 * The ratio is ours ÷ floor within one round, and the row shows the median over the rounds: whatever else the
 * machine does while a round is measured slows both of its sides, so their ratio holds still where the figures do
 * not. It may therefore differ a little from the quotient of the two medians beside it.
 */
import { median } from './statistics.ts';

export type Better = 'more' | 'less';

export interface Row {
  what: string;
  unit: string;
  better: Better;
  /** One figure per round. */
  ours: number[];
  floor?: { name: string; rounds: number[] };
  aim?: Aim;
  /** What a reader has to know to read the figures right. */
  note?: string;
}

export interface Aim {
  of: 'ours' | 'ratio';
  atLeast?: number;
  atMost?: number;
}

export interface Verdict {
  ours: number;
  floor: number | undefined;
  ratio: number | undefined;
  met: boolean | undefined;
}

export function judge({ ours, floor, aim }: Row): Verdict {
  const ratios = floor?.rounds.map((value, round) => ours[round]! / value);
  const verdict = {
    ours: median(ours),
    floor: floor && median(floor.rounds),
    ratio: ratios && median(ratios),
  };
  const judged = aim === undefined ? undefined : verdict[aim.of];
  if (aim === undefined || judged === undefined) return { ...verdict, met: undefined };
  return { ...verdict, met: judged >= (aim.atLeast ?? -Infinity) && judged <= (aim.atMost ?? Infinity) };
}
