/**
 * Collects text deltas, so that a fast model costs a few appends a second and not hundreds. The first delta is written
 * at once. Deltas that come during an append, or within the window after it, are written together.
 */
const WINDOW_MS = 20;

export class DeltaBuffer {
  readonly #write: (delta: string) => Promise<void>;
  #text = '';
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
    if (this.#timer === undefined && this.#writing === undefined) this.#start();
  }

  /** Resolves when everything that was pushed is written. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#writing !== undefined || this.#text !== '') {
      if (this.#writing === undefined) this.#start();
      await this.#writing;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #start(): void {
    const text = this.#text;
    this.#text = '';
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
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#text !== '' && this.#writing === undefined) this.#start();
    }, WINDOW_MS);
  }
}
