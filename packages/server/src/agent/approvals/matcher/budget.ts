/**
 * The bound on the work of one verdict. Reading text charges its length, and each repetition charges again, so no command
 * can block the thread for longer than the bound. A command that exceeds the bound asks.
 */

/** Longer commands ask without being read. Nobody types a command this long; documents belong into write_file. */
export const MAX_COMMAND_CHARS = 50_000;
/**
 * Units of work for one verdict, over all its readings. A unit is about a tenth of a microsecond, so the bound is below
 * the 20 ms by which a command may delay others (`npm run bench -- gate` measures it).
 */
export const MAX_WORK = 100_000;
/** Costs in addition to the length of the text. */
export const COMMAND_COST = 80;
export const REDIRECT_COST = 60;
export const WORD_COST = 20;
export const EXPANSION_COST = 60;
export const ARGUMENT_COST = 25;

export class OutOfBudget extends Error {
  override readonly name = 'OutOfBudget';
}

export class Budget {
  work = 0;
  readonly #max: number;

  constructor(max = MAX_WORK) {
    this.#max = max;
  }

  charge(units: number): void {
    this.work += units;
    if (this.work > this.#max) throw new OutOfBudget();
  }
}
