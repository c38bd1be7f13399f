/** Measures how fast runs leave the queue, for an honest `Retry-After`. */
const SMOOTHING = 0.2;
const MIN_S = 1;
const MAX_S = 300;
/** Used before any run has left the queue. */
const GUESS_S = 5;

export class QueuePace {
  readonly #now: () => number;
  #lastMs: number | undefined;
  #intervalMs: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A run left the queue. */
  tick(): void {
    const now = this.#now();
    if (this.#lastMs !== undefined) {
      const interval = now - this.#lastMs;
      this.#intervalMs =
        this.#intervalMs === undefined
          ? interval
          : this.#intervalMs + SMOOTHING * (interval - this.#intervalMs);
    }
    this.#lastMs = now;
  }

  /** When this many runs have probably left the queue. */
  retryAfterS(runs = 1): number {
    if (this.#intervalMs === undefined || this.#lastMs === undefined) return GUESS_S;
    // A queue that has been still for longer than its usual pace has become slower.
    const pace = Math.max(this.#intervalMs, this.#now() - this.#lastMs);
    return Math.min(MAX_S, Math.max(MIN_S, Math.ceil((runs * pace) / 1000)));
  }
}
