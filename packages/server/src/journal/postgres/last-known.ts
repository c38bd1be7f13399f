/** A figure for people: while the database is unavailable, its last known value. */
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
