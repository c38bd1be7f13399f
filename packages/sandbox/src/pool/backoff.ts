/** How long to wait after the n-th failure in a row. */
const FIRST_MS = 1_000;
/** Short enough that waiting callers see a repaired daemon or image before they give up. */
const MAX_MS = 15_000;

export function backoffMs(failures: number): number {
  return Math.min(MAX_MS, FIRST_MS * 2 ** (failures - 1));
}

/**
 * Decides when a container may be started. Starts are unrestricted until one fails; from then until one succeeds there
 * is one at a time, after a growing pause, so that waiting callers do not hammer a broken image.
 */
export class StartBackoff {
  readonly #now: () => number;
  #failures = 0;
  #retryAtMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Starts that began together count as one failure: each returns the value that it got at its beginning. */
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

  /** How long until the next start may begin; Infinity while the outcome of the present one is open. */
  waitMs(starting: number): number {
    if (this.#failures === 0) return 0;
    return starting > 0 ? Infinity : Math.max(0, this.#retryAtMs - this.#now());
  }
}
