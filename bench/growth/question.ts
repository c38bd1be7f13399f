/** A question about growth: what does the same act cost when there is ten, a hundred, a thousand times as much? */
import type { Stage } from '../stage.ts';
import { median } from '../statistics.ts';

export interface Question {
  /** The thing whose number grows from one size to the next. */
  of: string;
  sizes: readonly number[];
  /** Measures the sizes in their order, and yields each when it is done. */
  measure(stage: Stage, sizes: readonly number[]): AsyncGenerator<Point>;
}

/** The figures of one size. */
export interface Point {
  size: number;
  /** By what was done. Nothing where this machine cannot hold the size. */
  ms: Record<string, number>;
  /** Why it was not measured. */
  skipped?: string;
}

/** The median duration of an act. The first times, which fill caches, do not count. */
export async function medianMs(times: number, act: () => Promise<unknown>, warmUps = 2): Promise<number> {
  const durations: number[] = [];
  for (let i = -warmUps; i < times; i++) {
    const startedAt = performance.now();
    await act();
    if (i >= 0) durations.push(performance.now() - startedAt);
  }
  return median(durations);
}
