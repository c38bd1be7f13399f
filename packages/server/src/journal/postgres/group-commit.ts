/**
 * Group commit: what is asked for while one transaction is under way goes into the next one together. A slow database
 * makes larger groups, not longer queues, and the cost of a commit is shared by the whole group.
 *
 * Nobody fails for what somebody else of the group asked for: a group with something in it that the database will not take
 * is parted until that is alone.
 */
import { StatementRefused } from './database.ts';

export type Answer<Result> = { value: Result } | { error: Error };

interface Waiting<Request, Result> {
  request: Request;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** A bound on how long the first of a group waits for the others of it. */
const GROUP_MAX = 500;

export class GroupCommit<Request, Result> {
  /** Carries out a group; an answer for each, in order. When it rejects, nothing of the group has happened. */
  readonly #commit: (group: Request[]) => Promise<Answer<Result>[]>;
  #waiting: Waiting<Request, Result>[] = [];
  #busy = false;
  #running: Promise<void> = Promise.resolve();

  constructor(commit: (group: Request[]) => Promise<Answer<Result>[]>) {
    this.#commit = commit;
  }

  submit(request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (!this.#busy) this.#running = this.#run();
    });
  }

  /** Resolves when everything that was asked for is answered. */
  idle(): Promise<void> {
    return this.#running;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    // What is asked for in this very turn belongs to the group.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#answer(this.#waiting.splice(0, GROUP_MAX));
    }
    this.#busy = false;
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
