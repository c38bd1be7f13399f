/**
 * Group commit: requests that come during one transaction go into the next one together. A slow database makes larger
 * groups, not longer queues, and the whole group shares the cost of a commit.
 *
 * No request fails because of another one in its group: when the database refuses something, the group is split until
 * that request is alone.
 */
import { StatementRefused } from './database.ts';

export type Answer<Result> = { value: Result } | { error: Error };

interface Waiting<Request, Result> {
  request: Request;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Both limit how long the first of a group waits for the others. */
const GROUP_MAX = 500;
const GROUP_MAX_BYTES = 4 * 1024 * 1024;

export class GroupCommit<Request, Result> {
  /**
   * Carries out a group; returns an answer for each request, in order. When it rejects, nothing of the group has
   * happened.
   */
  readonly #commit: (group: Request[]) => Promise<Answer<Result>[]>;
  readonly #bytesOf: (request: Request) => number;
  #waiting: Waiting<Request, Result>[] = [];
  #busy = false;
  #running: Promise<void> = Promise.resolve();

  /** `bytesOf`: what a request carries beside its few records; nothing by default. */
  constructor(
    commit: (group: Request[]) => Promise<Answer<Result>[]>,
    bytesOf: (request: Request) => number = () => 0,
  ) {
    this.#commit = commit;
    this.#bytesOf = bytesOf;
  }

  submit(request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (!this.#busy) this.#running = this.#run();
    });
  }

  /** Resolves when every request has its answer. */
  idle(): Promise<void> {
    return this.#running;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    // Requests of this same turn belong to the group.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#answer(this.#waiting.splice(0, this.#groupSize()));
    }
    this.#busy = false;
  }

  #groupSize(): number {
    let bytes = 0;
    const full = this.#waiting.findIndex(({ request }, i) => {
      bytes += this.#bytesOf(request);
      return i === GROUP_MAX || (i > 0 && bytes > GROUP_MAX_BYTES);
    });
    return full === -1 ? this.#waiting.length : full;
  }

  async #answer(group: readonly Waiting<Request, Result>[]): Promise<void> {
    try {
      const answers = await this.#commit(group.map(({ request }) => request));
      for (const [i, { resolve, reject }] of group.entries()) {
        const answer = answers[i]!;
        if ('error' in answer) reject(answer.error);
        else resolve(answer.value);
      }
    } catch (error) {
      if (error instanceof StatementRefused && group.length > 1) {
        const half = Math.ceil(group.length / 2);
        await this.#answer(group.slice(0, half));
        await this.#answer(group.slice(half));
      } else for (const { reject } of group) reject(error);
    }
  }
}
