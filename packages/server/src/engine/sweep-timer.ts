/** Calls a sweep again and again, never twice at once, until it is stopped. */
const INTERVAL_MAX_MS = 60_000;
const INTERVAL_MIN_MS = 250;

export class SweepTimer {
  readonly #sweep: (signal: AbortSignal) => Promise<void>;
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  /** `sweep` deals with its failures itself, and ends soon after its signal is aborted. */
  constructor(sweep: (signal: AbortSignal) => Promise<void>) {
    this.#sweep = sweep;
  }

  /** Often enough that what is kept for so long goes about when it should. */
  start(keptMs: number): void {
    const interval = Math.min(INTERVAL_MAX_MS, Math.max(INTERVAL_MIN_MS, keptMs / 10));
    this.#timer = setInterval(() => {
      this.#sweeping ??= this.#sweep(this.#stopped.signal).finally(() => {
        this.#sweeping = undefined;
      });
    }, interval);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    clearInterval(this.#timer);
    await this.#sweeping;
  }
}
