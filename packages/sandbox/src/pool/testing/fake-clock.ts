import type { Clock } from '../clock.ts';

/** Time that stands still until a test moves it. */
export class FakeClock implements Clock {
  #nowMs = 0;
  readonly #timers = new Set<{ atMs: number; callback: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves time forward. It stops at every timer until everything that the timer started has settled. */
  async advanceS(seconds: number): Promise<void> {
    const endMs = this.#nowMs + seconds * 1000;
    await atRest();
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.atMs - b.atMs);
      if (!next || next.atMs > endMs) break;
      this.#timers.delete(next);
      this.#nowMs = next.atMs;
      next.callback();
      await atRest();
    }
    this.#nowMs = endMs;
  }

  get pending(): number {
    return this.#timers.size;
  }
}

/** Everything that needs no time has happened: promises settle before the event loop turns. */
export function atRest(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
