/** A stream that is read once: by a loop, by a method that reads what is left, or by one after the other. */
export abstract class Reading<T> implements AsyncIterable<T> {
  readonly #items: AsyncGenerator<T, void, undefined>;
  #state: 'unread' | 'unfinished' | 'finished' | { error: unknown } = 'unread';

  constructor(source: AsyncIterable<T>) {
    this.#items = this.#watched(source);
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    if (this.#state !== 'unread') throw new Error('This stream has been read; it can be read only once');
    return this.#items;
  }

  /** Sees each item before the reader does. */
  protected abstract observe(item: T): void;

  /** Reads what is left. */
  protected async finish(): Promise<void> {
    for await (const _ of this.#items);
    if (typeof this.#state === 'object') throw this.#state.error;
    if (this.#state !== 'finished') throw new Error('This stream was left before its end');
  }

  async *#watched(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    this.#state = 'unfinished';
    try {
      for await (const item of source) {
        this.observe(item);
        yield item;
      }
      this.#state = 'finished';
    } catch (error) {
      this.#state = { error };
      throw error;
    }
  }
}
