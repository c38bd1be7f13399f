/**
 * Collects text deltas, so that a fast model costs a few appends a second and not hundreds. The first delta is written in
 * the next turn of the event loop, so that what has arrived with it is written with it. Deltas that come during an
 * append, or within the window after it, are written together.
 *
 * Some providers cut an emoji between two deltas. Its first half waits for the second one: alone, it would be an escape that
 * strict JSON parsers refuse, and then their clients lose the stream.
 */
const WINDOW_MS = 20;

/** Half of a surrogate pair, which in Unicode mode matches only where the other half does not follow. */
const FIRST_HALF_AT_END = /[\ud800-\udbff]$/u;

export class DeltaBuffer {
  readonly #write: (delta: string) => Promise<void>;
  #text = '';
  /** One of them is set while a later write is planned. */
  #turn: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #failure: { error: unknown } | undefined;

  constructor(write: (delta: string) => Promise<void>) {
    this.#write = write;
  }

  /** Throws the error of an earlier write. */
  push(delta: string): void {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (delta === '') return;
    this.#text += delta;
    if (this.#turn !== undefined || this.#timer !== undefined || this.#writing !== undefined) return;
    this.#turn = setImmediate(() => this.#start());
  }

  /** Resolves when everything that was pushed is written. */
  async flush(): Promise<void> {
    const rest = await this.takeRest();
    if (rest !== '') await this.#write(rest);
  }

  /** Resolves when nothing is being written, with the text that is not written yet: that is left to the caller. */
  async takeRest(): Promise<string> {
    this.#stopWaiting();
    await this.#writing;
    this.#stopWaiting();
    if (this.#failure !== undefined) throw this.#failure.error;
    const rest = this.#text;
    this.#text = '';
    return rest;
  }

  #start(): void {
    this.#stopWaiting();
    const end = FIRST_HALF_AT_END.test(this.#text) ? -1 : undefined;
    const text = this.#text.slice(0, end);
    if (text === '') return;
    this.#text = this.#text.slice(text.length);
    this.#writing = this.#write(text).then(
      () => this.#written(),
      (error: unknown) => {
        this.#failure ??= { error };
        this.#text = '';
        this.#writing = undefined;
      },
    );
  }

  #written(): void {
    this.#writing = undefined;
    this.#timer = setTimeout(() => this.#start(), WINDOW_MS);
  }

  #stopWaiting(): void {
    clearImmediate(this.#turn);
    clearTimeout(this.#timer);
    this.#turn = undefined;
    this.#timer = undefined;
  }
}
