/** Why a server does not open a store that is the target of an unfinished move. */
import type { Mark } from './store-ends.ts';

/** The table of the mark, in the language of both databases. */
export const MARK_TABLE = `CREATE TABLE IF NOT EXISTS store_move (
  id    integer NOT NULL PRIMARY KEY CHECK (id = 0),
  state text    NOT NULL,
  mark  text    NOT NULL
)`;

export interface UnfinishedMove {
  /** Completes the sentence "The database … cannot be opened: ". */
  readonly problem: string;
  readonly fix: string;
}

/** Undefined for a store that may be opened. */
export function unfinishedMove(state: Mark['state'] | undefined): UnfinishedMove | undefined {
  if (state === undefined || state === 'verified') return undefined;
  if (state === 'different') {
    return {
      problem: 'it was to become a copy of another store, and differs from it',
      fix: 'Begin again with talaria migrate-store --start-over, or keep using the other store',
    };
  }
  return {
    problem: 'another store is being moved into it, and part of it is missing',
    fix: 'Run the same talaria migrate-store command again: it continues where it was',
  };
}

/** Throws for a store that may not be opened. */
export function expectWhole(state: Mark['state'] | undefined): void {
  const move = unfinishedMove(state);
  if (move !== undefined) throw new Error(`${move.problem}. ${move.fix}`);
}
