/**
 * A client that does not give up: it repeats what got no answer, on whichever server answers, until somebody does. What it gives up in
 * the end is evidence: a server that is back has to answer.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isTerminalEvent, type RunEvent } from '@talaria/protocol';
import { type Answer, Api } from '../support/api.ts';
import type { SeededRandom } from '../support/seeded-random.ts';

/** Longer than a server is ever paused. */
const ANSWER_LIMIT_MS = 30_000;
const PATIENCE_MS = 240_000;
const AGAIN_MS = 120;
/** What a server says that stops, or that waits for its database or for another server. */
const PASSING: readonly number[] = [429, 503];

export interface Servers {
  /** Of those that are up, or look so. */
  urls(): readonly string[];
  readonly apiKey: string;
}

export interface RequestOptions {
  method?: string;
  body?: unknown;
  raw?: FormData;
  headers?: Record<string, string>;
  /** Only this server. */
  url?: () => string | undefined;
}

export interface Reply<T> extends Answer<T> {
  /** How many attempts before got no answer: any of them may have been done. */
  unanswered: number;
}

export class PersistentClient {
  readonly #servers: Servers;
  readonly #random: SeededRandom;

  constructor(servers: Servers, random: SeededRandom) {
    this.#servers = servers;
    this.#random = random;
  }

  /** Again until there is an answer that is not passing. */
  async request<T>(path: string, options: RequestOptions = {}): Promise<Reply<T>> {
    let unanswered = 0;
    return this.#untilDone(path, async () => {
      const answer = await this.once<T>(path, options);
      if (answer === undefined) unanswered += 1;
      return answer === undefined || PASSING.includes(answer.status) ? undefined : { ...answer, unanswered };
    });
  }

  /** One attempt; undefined without an answer. */
  async once<T>(path: string, { method = 'POST', url, ...options }: RequestOptions = {}) {
    const base = url === undefined ? this.#pick() : url();
    if (base === undefined) return undefined;
    const api = new Api(base, this.#servers.apiKey);
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
    return api.request<T>(method, path, { ...options, signal }).catch(() => undefined);
  }

  get<T>(path: string, options: RequestOptions = {}): Promise<Reply<T>> {
    return this.request<T>(path, { ...options, method: 'GET' });
  }

  /** Follows the run to its end by cursor, and hands over each frame as it comes. */
  async follow(runId: string, onFrame: (data: string, event: RunEvent) => void): Promise<void> {
    let last: RunEvent | undefined;
    await this.#untilDone(`the end of ${runId}`, async () => {
      const url = this.#pick();
      if (url === undefined) return undefined;
      const before = last?.seq;
      try {
        await new Api(url, this.#servers.apiKey).stream(runId, {
          ...(before === undefined ? {} : { after: before }),
          onFrame: ({ data, event }) => {
            last = event;
            onFrame(data, event);
          },
        });
      } catch (error) {
        // The server was away, or it refused the stream; whatever it says for good is told in the end.
        if (/^Error: events: (4\d\d)/.test(String(error))) throw error;
      }
      return isTerminalEvent(last?.event ?? '') ? last : undefined;
    });
  }

  #pick(): string | undefined {
    const urls = this.#servers.urls();
    return urls.length === 0 ? undefined : this.#random.pick(urls);
  }

  async #untilDone<T>(what: string, attempt: () => Promise<T | undefined>): Promise<T> {
    for (const deadline = Date.now() + PATIENCE_MS; ; await delay(AGAIN_MS)) {
      const done = await attempt();
      if (done !== undefined) return done;
      if (Date.now() > deadline) throw new Error(`${PATIENCE_MS / 1000} s in vain for ${what}`);
    }
  }
}
