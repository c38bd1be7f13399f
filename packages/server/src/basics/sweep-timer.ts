/** Calls a sweep again and again, never twice at once, until it is stopped. */
const INTERVAL_MAX_MS = 60_000;
const INTERVAL_MIN_MS = 250;

export class SweepTimer {
  readonly #sweep: (signal: AbortSignal) => Promise<void>;
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  /** `sweep` handles its own failures, and ends soon after its signal aborts. */
  constructor(sweep: (signal: AbortSignal) => Promise<void>) {
    this.#sweep = sweep;
  }

  /** Often enough that items are cleared about when their retention ends. */
  start(keptMs: number): void {
    this.startEvery(Math.min(INTERVAL_MAX_MS, Math.max(INTERVAL_MIN_MS, keptMs / 10)));
  }

  startEvery(interval: number): void {
    this.#timer = setInterval(() => this.sweepNow(), interval);
  }

  sweepNow(): void {
    this.#sweeping ??= this.#sweep(this.#stopped.signal).finally(() => {
      this.#sweeping = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    clearInterval(this.#timer);
    await this.#sweeping;
  }
}
