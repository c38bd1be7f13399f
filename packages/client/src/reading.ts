/** A stream that can be read once: by a loop, by a method that reads the rest, or by a loop and then a method. */
export abstract class Reading<T> implements AsyncIterable<T> {
  readonly #items: AsyncGenerator<T, void, undefined>;
  #state: 'unread' | 'unfinished' | 'finished' | { error: unknown } = 'unread';

  constructor(source: AsyncIterable<T>) {
    this.#items = this.#watched(source);
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    this.#refuseSecond();
    return this.#items;
  }

  /** For another way of reading, in place of the loop. */
  protected begin(): void {
    this.#refuseSecond();
    this.#state = 'unfinished';
  }

  /** Gets each item before the reader does. */
  protected abstract observe(item: T): void;

  /** Reads the rest. */
  protected async finish(): Promise<void> {
    for await (const _ of this.#items);
    if (typeof this.#state === 'object') throw this.#state.error;
    if (this.#state !== 'finished') throw new Error('This stream was closed before its end');
  }

  #refuseSecond(): void {
    if (this.#state !== 'unread') throw new Error('This stream was already read; it can be read only once');
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
