/** How long to wait after the n-th failure in a row. */
const FIRST_MS = 1_000;
/** Short enough that whoever waits for a slot sees a repaired daemon or image before giving up. */
const MAX_MS = 15_000;

export function backoffMs(failures: number): number {
  return Math.min(MAX_MS, FIRST_MS * 2 ** (failures - 1));
}

/**
 * When a container may be started. Nothing holds starts back until one fails; from then until one succeeds there is one
 * at a time, after a pause that grows, so that a broken image is not hammered by everyone who waits.
 */
export class StartBackoff {
  readonly #now: () => number;
  #failures = 0;
  #retryAtMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts that began together fail as one: each hands back here what it was given. */
  begin(): number {
    return this.#failures;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  failed(begun: number): void {
    this.#failures = Math.max(this.#failures, begun + 1);
    this.#retryAtMs = this.#now() + backoffMs(this.#failures);
  }

  /** Until the next start may begin; Infinity while the one under way has to show first. */
  waitMs(starting: number): number {
    if (this.#failures === 0) return 0;
    return starting > 0 ? Infinity : Math.max(0, this.#retryAtMs - this.#now());
  }
}
