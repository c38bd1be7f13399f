/** How fast runs leave the queue, for a `Retry-After` that is true. */
const SMOOTHING = 0.2;
const MIN_S = 1;
const MAX_S = 300;
/** Before anything was seen leaving. */
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

  /** When so many runs are likely to have left the queue. */
  retryAfterS(runs = 1): number {
    if (this.#intervalMs === undefined || this.#lastMs === undefined) return GUESS_S;
    // A queue that has stood still for longer than its usual pace is slower than it used to be.
    const pace = Math.max(this.#intervalMs, this.#now() - this.#lastMs);
    return Math.min(MAX_S, Math.max(MIN_S, Math.ceil((runs * pace) / 1000)));
  }
}
