/**
 * A server that is killed and restarted on the same data, and a persistent client: it reconnects, retries what got no
 * answer, and follows a run across any number of deaths.
 */
import { isTerminalEvent, type RunEvent } from '@talaria/protocol';
import { expect } from 'vitest';
import type { Failpoint } from '../../packages/server/src/basics/failpoints.ts';
import { type Answer, Api, isConnectionLoss } from '../support/api.ts';
import { ServerProcess } from '../support/server-process.ts';
import { newStore } from '../support/store.ts';
import { waitFor } from '../support/wait-for.ts';

/** A failpoint, or its n-th passage. */
export type Moment = Failpoint | `${Failpoint}@${number}`;

const DEATH_LIMIT_MS = 100_000;

export interface KillableServerOptions {
  modelUrl: string;
  /** The settings of its store; by default a new one. */
  store?: Record<string, string>;
  env?: Record<string, string>;
}

export class KillableServer implements AsyncDisposable {
  readonly process: ServerProcess;
  readonly #key: string | undefined;
  #store: Record<string, string> | undefined;
  #starts = 0;
  #up = false;
  #upAgain = Promise.withResolvers<void>();

  constructor({ modelUrl, store, env = {} }: KillableServerOptions) {
    this.#store = store;
    this.process = new ServerProcess({ modelUrl, env });
    this.#key = env.API_SERVER_KEY;
  }

  /** Starts it so that it dies at `moment`, if given; false when that happened before it was ready. */
  async start(moment?: Moment): Promise<boolean> {
    const start = ++this.#starts;
    try {
      this.#store ??= await newStore();
      await this.process.start({
        ...this.#store,
        ...(moment === undefined ? {} : { TALARIA_FAILPOINTS: moment }),
      });
    } catch (error) {
      if (moment !== undefined && /\(SIGKILL\)/.test(String(error))) return false;
      throw error;
    }
    this.#up = true;
    this.#upAgain.resolve();
    void this.process.exited().then(() => {
      if (this.#starts === start) this.#down();
    });
    return true;
  }

  /** Waits until the server has died of its failpoint. */
  async diesByItself(moment: Moment): Promise<void> {
    let end: { signal: string | null } | undefined;
    void this.process.exited().then((exit) => {
      end = exit;
    });
    await waitFor(`the server to die at ${moment}`, () => end !== undefined, DEATH_LIMIT_MS);
    expect(end?.signal).toBe('SIGKILL');
  }

  async kill(): Promise<void> {
    expect((await this.process.kill('SIGKILL')).signal).toBe('SIGKILL');
    this.#down();
  }

  async killAndStart(moment?: Moment): Promise<void> {
    await this.kill();
    await this.start(moment);
  }

  get isUp(): boolean {
    return this.#up;
  }

  whenUp(): Promise<void> {
    return this.#upAgain.promise;
  }

  get api(): Api {
    return new Api(this.process.url, this.#key);
  }

  /** Does this with a running server; repeats it while the connection breaks because the server died. */
  async untilAnswered<T>(
    action: (api: Api, tries: number) => Promise<T>,
    done: (value: T) => boolean = () => true,
  ) {
    for (let tries = 0; ; tries += 1) {
      await waitFor('the server to be up', () => this.#up, DEATH_LIMIT_MS);
      const start = this.#starts;
      try {
        const value = await action(this.api, tries);
        if (done(value)) return value;
      } catch (error) {
        if (!isConnectionLoss(error)) throw error;
      }
      // A broken connection is acceptable only if the server died.
      await waitFor('the server to be gone', () => !this.#up || this.#starts !== start);
    }
  }

  /** Creates a run like a careful client: with a key, again until there is an answer. */
  create(input: string, fields: Record<string, unknown> = {}): Promise<string> {
    const headers = { 'idempotency-key': `key-${Math.random()}` };
    return this.untilAnswered((api) => api.create(input, fields, headers));
  }

  /** Approves once. After a broken connection it may turn out that the first answer was accepted. */
  async approve(runId: string, requestId: string): Promise<void> {
    await this.untilAnswered(async (api, tries) => {
      const answer: Answer<unknown> = await api.approve(runId, 'once', { request_id: requestId });
      expect(tries === 0 ? [200] : [200, 409]).toContain(answer.status);
    });
  }

  /** Follows the run to its end by cursor; returns the events in the order it saw them. */
  async follow(runId: string, onEvent: (event: RunEvent) => void = () => {}): Promise<RunEvent[]> {
    const seen: RunEvent[] = [];
    const ended = () => isTerminalEvent(seen.at(-1)?.event ?? '');
    await this.untilAnswered(
      async (api) => {
        const after = seen.at(-1)?.seq;
        await api.stream(runId, {
          ...(after === undefined ? {} : { after }),
          onFrame: ({ id, event }) => {
            expect(id).toBe(String(event.seq));
            seen.push(event);
            onEvent(event);
          },
        });
      },
      () => ended(),
    );
    return seen;
  }

  #down(): void {
    if (!this.#up) return;
    this.#up = false;
    this.#upAgain = Promise.withResolvers();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
  }
}
