/** Time that stands still until a test moves it, for the store and for timers. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { After } from '../job-scheduler.ts';

export class TestTime {
  #now: number;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  constructor(start: string) {
    this.#now = Date.parse(start);
  }

  readonly now = (): number => this.#now;

  readonly after: After = (ms, callback) => {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  /** When the next timer goes off. */
  get nextTimer(): number {
    return Math.min(...[...this.#timers].map(({ at }) => at));
  }

  /** Sets the clock as a person would: timers do not notice. */
  set(time: string): void {
    this.#now = Date.parse(time);
  }

  /**
   * Moves time forward. It stops at every timer until everything that the timer started is done and `waiting` timers
   * wait again.
   */
  async advance(ms: number, waiting = 1): Promise<void> {
    const end = this.#now + ms;
    await this.rest(waiting);
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.at - b.at);
      if (next === undefined || next.at > end) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await this.rest(waiting);
    }
    this.#now = end;
  }

  /** Resolves when this many timers wait. */
  async rest(waiting = 1): Promise<void> {
    while (this.#timers.size !== waiting) await nextTurn();
  }
}
