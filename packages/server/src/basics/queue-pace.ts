/** Measures how fast a queue moves, for an honest `Retry-After`. */
const SMOOTHING = 0.2;
const MIN_S = 1;
const MAX_S = 300;
/** Used before anything has left the queue. */
const GUESS_S = 5;

export class QueuePace {
  readonly #now: () => number;
  #lastMs: number | undefined;
  #intervalMs: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Something left the queue. */
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

  /** When this many have probably left the queue. */
  retryAfterS(count = 1): number {
    if (this.#intervalMs === undefined || this.#lastMs === undefined) return GUESS_S;
    // A queue that has been still for longer than its usual pace has become slower.
    const pace = Math.max(this.#intervalMs, this.#now() - this.#lastMs);
    return Math.min(MAX_S, Math.max(MIN_S, Math.ceil((count * pace) / 1000)));
  }
}
