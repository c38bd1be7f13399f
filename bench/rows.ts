/**
 * A row of the table: what was measured, its floor, and the target.
 *
 * The ratio is ours ÷ floor within one round, and the row shows the median over the rounds. Other load on the machine
 * slows both sides of a round, so their ratio is stable where the figures are not. It may therefore differ from the
 * quotient of the two medians beside it.
 *
 * A median alone would make a row near its target a coin toss. If the middle half of the rounds lies on both sides of
 * the target, the verdict is `unclear`: the machine was too busy, or the row too close, to decide.
 */
import { median, percentile } from './statistics.ts';

export type Better = 'more' | 'less';

export interface Row {
  what: string;
  unit: string;
  better: Better;
  /** One figure per round. */
  ours: number[];
  floor?: { name: string; rounds: number[] };
  aim?: Aim;
  /** A remark that explains the figures to a reader. */
  note?: string;
}

/** What this machine cannot measure. */
export interface Missing {
  what: string;
  missing: string;
}

export interface Aim {
  of: 'ours' | 'ratio';
  atLeast?: number;
  atMost?: number;
}

export type Met = 'yes' | 'no' | 'unclear';

export interface Verdict {
  ours: number;
  floor: number | undefined;
  ratio: number | undefined;
  /** The ratio of each round. */
  ratios: number[] | undefined;
  met: Met | undefined;
}

export function judge({ ours, floor, aim }: Row): Verdict {
  const ratios = floor?.rounds.map((value, round) => ours[round]! / value);
  const judged = aim?.of === 'ratio' ? ratios : ours;
  return {
    ours: median(ours),
    floor: floor && median(floor.rounds),
    ratio: ratios && median(ratios),
    ratios,
    met: aim && judged && meets(judged, aim),
  };
}

function meets(rounds: readonly number[], { atLeast = -Infinity, atMost = Infinity }: Aim): Met {
  const within = (value: number) => value >= atLeast && value <= atMost;
  const lower = within(percentile(rounds, 0.25));
  if (lower !== within(percentile(rounds, 0.75))) return 'unclear';
  return lower ? 'yes' : 'no';
}
