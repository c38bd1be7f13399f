/** Tokens and cost of runs, by the local day on which they were created. */
import type { Run } from '@talaria/client';

export interface Day {
  /** When the day begins, in ms. */
  at: number;
  runs: number;
  tokens: number;
  cost: number | undefined;
}

/** The last `days` days, also those without a run; the oldest first. */
export function usageByDay(runs: readonly Run[], days: number, now: number): readonly Day[] {
  const byDay = new Map<number, Day>();
  for (let back = days - 1; back >= 0; back--) {
    const at = startOfDay(now, back);
    byDay.set(at, { at, runs: 0, tokens: 0, cost: undefined });
  }
  for (const run of runs) {
    const day = byDay.get(startOfDay(run.created_at * 1000, 0));
    if (day === undefined) continue;
    const { cost } = run;
    day.runs++;
    day.tokens += (run.usage ?? run.usage_so_far)?.total_tokens ?? 0;
    if (cost !== undefined) day.cost = (day.cost ?? 0) + cost;
  }
  return [...byDay.values()];
}

export function startOfDay(ms: number, daysBack: number): number {
  const date = new Date(ms);
  // Days are not always 24 hours long.
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - daysBack).getTime();
}
