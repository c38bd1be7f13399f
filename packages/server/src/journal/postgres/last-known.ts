/** A figure for people to look at: while the database is away, what it last was. */
import { TalariaError } from '@talaria/protocol';

export class LastKnown<T> {
  #value: T;

  constructor(initial: T) {
    this.#value = initial;
  }

  async read(ask: () => Promise<T>): Promise<T> {
    try {
      this.#value = await ask();
    } catch (error) {
      if (!(error instanceof TalariaError && error.code === 'store_unavailable')) throw error;
    }
    return this.#value;
  }
}
