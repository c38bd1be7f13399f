/**
 * Which runs have changed, for feeds over all runs of a key.
 *
 * Every write that changes what a run shows gives the run a new mark, in its own transaction. Marks grow, but they do
 * not become visible in their order: of two transactions, the one with the lower mark may commit later. So a reader
 * keeps a place, which says what it has read so far, and not the highest mark it has seen.
 *
 * Invariants
 * - A read from a place returns every run that has changed since, in whichever order the changes were committed. It may
 *   return a run that the reader has already, never fewer than have changed.
 * - What a read has not seen, because it was committed later, comes after the place that the read returns.
 * - A cursor stands for a place, for its owner alone, for as long as the store exists. A cursor of another history of
 *   the database (it was moved, or a standby without the last transactions took over) is refused.
 * - A run that is deleted just disappears.
 */
import type { StoredRun } from './run-state.ts';

export interface ChangePlace {
  /** Every change with a lower mark comes before this place. */
  readonly mark: number;
  /** Which changes with this mark or a higher one come before this place, in a form that only the driver reads. */
  readonly seen?: string | undefined;
  /** The history of the database that the marks belong to, where there may be several. */
  readonly history?: string | undefined;
}

export interface ChangedRun {
  ordinal: number;
  mark: number;
}

export interface ChangeRead {
  /** By their marks. */
  changed: ChangedRun[];
  place: ChangePlace;
}

export interface Changes {
  /** The place after everything that has been committed. */
  now(): Promise<ChangePlace>;
  /** Rejects with `invalid_cursor` if the place belongs to another history. */
  read(owners: readonly string[], after: ChangePlace): Promise<ChangeRead>;
  /**
   * The present state of these runs, in this order, without those that are gone. The run whose state brings them to
   * `maxChars` is the last.
   */
  runs(ordinals: readonly number[], maxChars: number): Promise<StoredRun[]>;
  seal(owner: string, place: ChangePlace): string;
  /** Rejects with `invalid_cursor` if `seal` did not make the cursor for this owner, or no reader can continue there. */
  open(owner: string, cursor: string): Promise<ChangePlace>;
  /** Calls `listener` after a run has changed, and possibly more often. */
  watch(listener: () => void): () => void;
}

/** A place that comes before both. */
export function earlier(a: ChangePlace, b: ChangePlace): ChangePlace {
  if (a.mark !== b.mark) return a.mark < b.mark ? a : b;
  // Nobody can tell which of them has seen less, so the earlier place has seen nothing.
  return a.seen === b.seen ? a : { mark: a.mark, history: a.history };
}

/** The message for a wrong cursor of a feed. */
export const FEED_CURSOR = 'The cursor must be the id of an event of this feed, under the same key';
