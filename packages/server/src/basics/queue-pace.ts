/**
 * Measures how fast places become free while somebody needs one, for an honest `Retry-After`.
 *
 *   quiet ─crowded→ crowded ─quiet→ quiet
 *
 * Time counts only while it is crowded: however long a server had nothing to do, its pace stays as it was measured. A
 * place that becomes free meanwhile says nothing about the pace, because nobody waited for it.
 */
const SMOOTHING = 0.2;
const MIN_S = 1;
const MAX_S = 300;
/** Used before any place became free while it was crowded. */
const GUESS_MS = 5_000;

export class QueuePace {
  readonly #now: () => number;
  /** While it is crowded: when that began, or when a place last became free. */
  #sinceMs: number | undefined;
  #intervalMs: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** From now on somebody may be waiting for a place. */
  crowded(): void {
    this.#sinceMs ??= this.#now();
  }

  /** Nobody waits any more. */
  quiet(): void {
    this.#sinceMs = undefined;
  }

  /** A place became free. */
  tick(): void {
    if (this.#sinceMs === undefined) return;
    const now = this.#now();
    const interval = now - this.#sinceMs;
    this.#intervalMs =
      this.#intervalMs === undefined
        ? interval
        : this.#intervalMs + SMOOTHING * (interval - this.#intervalMs);
    this.#sinceMs = now;
  }

  /** When this many have probably left the queue. */
  retryAfterS(count = 1): number {
    const interval = this.#intervalMs ?? GUESS_MS;
    const stillMs = this.#sinceMs === undefined ? 0 : this.#now() - this.#sinceMs;
    // The first takes as long as the queue has been still, if that is longer than usual. The others move at the usual
    // pace: one long run does not stand for all.
    const waitMs = Math.max(interval, stillMs) + (count - 1) * interval;
    return Math.min(MAX_S, Math.max(MIN_S, Math.ceil(waitMs / 1000)));
  }
}
