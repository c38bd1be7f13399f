/**
 * Runs tools for all runs that wait for them, until the signal aborts.
 *
 *   poll ──▶ queue, the call that expires first in front ──a place is free──▶ begun ──▶ answered
 *    ▲  └─ waits `pollInterval`, or longer while polls fail
 *
 * A poll replaces the queue: a call that is not listed any more needs no answer. A running call that is not listed is
 * looked up, and its signal aborts when it is settled. A call is forgotten when it is answered and a poll does not list
 * it, so that a poll that was under way meanwhile does not begin it again.
 */
import type { PendingCall, Run } from '@talaria/protocol';
import { abortWith, sleep } from '../abort.ts';
import { APIError } from '../errors.ts';
import { backoffMs, isTransient, retryAfterMs } from '../retry.ts';
import type { RequestOptions } from '../transport.ts';
import { answerCall, type OutputRoute } from './answer-call.ts';
import { type BegunCalls, keyOf } from './begun-calls.ts';
import type { AnyClientTools } from './client-tool.ts';
import { isInShare, type Share } from './share.ts';

export interface ServeOptions {
  /** Ends it: no new call begins, and it waits for the calls in progress. */
  signal?: AbortSignal | undefined;
  /** Gets every failure that was handled: a failed poll, a tool that threw. */
  onError?: ((error: unknown, call?: ServedCall) => void) | undefined;
  /** How many calls may run side by side. Default 10. */
  concurrency?: number | undefined;
  /** Milliseconds between polls. Default 1000. */
  pollInterval?: number | undefined;
  /** Where several processes serve the same tools: which share of the calls this process runs. Default all. */
  share?: Share | undefined;
}

export interface ServedCall {
  runId: string;
  toolCallId: string;
  tool: string;
}

/** The methods it uses. */
export interface ServedRuns extends OutputRoute {
  get(runId: string, options: RequestOptions): Promise<Run>;
  list(filter: { status: 'waiting_for_tool'; limit: number }, options: RequestOptions): AsyncIterable<Run>;
}

interface Waiting {
  runId: string;
  call: PendingCall;
  key: string;
}

const CONCURRENCY = 10;
const POLL_MS = 1_000;
const POLL_LAST_MS = 30_000;
const PAGE = 200;

export class ToolServer {
  readonly #runs: ServedRuns;
  readonly #begun: BegunCalls;
  readonly #tools: AnyClientTools;
  readonly #options: ServeOptions;
  readonly #stop = new AbortController();
  readonly #running = new Map<string, Waiting & { settled: AbortController; done: Promise<void> }>();
  /** Begun here, and finished. */
  readonly #answered = new Set<string>();
  #queue: Waiting[] = [];

  constructor(runs: ServedRuns, begun: BegunCalls, tools: AnyClientTools, options: ServeOptions) {
    this.#runs = runs;
    this.#begun = begun;
    this.#tools = tools;
    this.#options = options;
  }

  async serve(): Promise<void> {
    const { signal } = this.#stop;
    const release = abortWith(this.#options.signal, this.#stop);
    try {
      for (let failures = 0; !signal.aborted; ) {
        const beganAt = performance.now();
        const error = await this.#poll();
        failures = error === undefined ? 0 : failures + 1;
        // A poll that takes long means a busy server: poll less often.
        const tookMs = performance.now() - beganAt;
        await sleep(Math.max(tookMs, this.#pauseMs(failures, error)), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      release();
      this.#queue = [];
      this.#stop.abort();
      await Promise.all([...this.#running.values()].map(({ done }) => done));
      for (const key of this.#answered) this.#begun.delete(key);
    }
    if (signal.reason instanceof Fault) throw signal.reason.cause;
  }

  /** Returns the error of the poll, if it may pass. */
  async #poll(): Promise<unknown> {
    const { signal } = this.#stop;
    const request = { signal, maxRetries: 0 };
    try {
      const listed = new Map<string, Waiting>();
      for await (const { run_id: runId, pending_calls } of this.#runs.list(FILTER, request)) {
        for (const call of pending_calls ?? []) {
          const key = keyOf(runId, call.tool_call_id);
          listed.set(key, { runId, call, key });
        }
      }
      for (const key of this.#answered) if (!listed.has(key)) this.#forget(key);
      this.#queue = [...listed.values()]
        .filter((waiting) => this.#isOurs(waiting))
        .sort((a, b) => a.call.expires_at - b.call.expires_at);
      this.#fill();
      for (const each of this.#running.values()) {
        if (!listed.has(each.key) && !(await this.#isPending(each, request))) each.settled.abort();
      }
      return undefined;
    } catch (error) {
      if (signal.aborted || !isTransient(error)) throw error;
      this.#report(error);
      return error;
    }
  }

  #isOurs({ call, key }: Waiting): boolean {
    return Object.hasOwn(this.#tools, call.tool) && isInShare(key, this.#options.share);
  }

  /** Includes runs that also wait for an approval; they are listed under that status. */
  async #isPending({ runId, call }: Waiting, request: RequestOptions): Promise<boolean> {
    try {
      const { pending_calls = [] } = await this.#runs.get(runId, request);
      return pending_calls.some(({ tool_call_id }) => tool_call_id === call.tool_call_id);
    } catch (error) {
      if (error instanceof APIError && error.status === 404) return false;
      throw error;
    }
  }

  #fill(): void {
    const { concurrency = CONCURRENCY } = this.#options;
    while (!this.#stop.signal.aborted && this.#running.size < concurrency) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      if (!this.#begun.has(next.key)) this.#begin(next);
    }
  }

  #begin(waiting: Waiting): void {
    const { runId, call, key } = waiting;
    this.#begun.add(key);
    const settled = new AbortController();
    const tool = this.#tools[call.tool]!;
    const served = { runId, toolCallId: call.tool_call_id, tool: call.tool };
    const onError = (error: unknown): void => this.#report(error, served);
    const done = answerCall({ runs: this.#runs, runId, call, tool, settled, request: {}, onError })
      .catch(onError)
      .then(() => {
        this.#running.delete(key);
        this.#answered.add(key);
        this.#fill();
      });
    this.#running.set(key, { ...waiting, settled, done });
  }

  /** A callback that throws ends it; the calls in progress still get their answers. */
  #report(error: unknown, call?: ServedCall): void {
    try {
      this.#options.onError?.(error, call);
    } catch (fault) {
      this.#stop.abort(new Fault(fault));
    }
  }

  #forget(key: string): void {
    this.#answered.delete(key);
    this.#begun.delete(key);
  }

  #pauseMs(failures: number, error: unknown): number {
    const { pollInterval = POLL_MS } = this.#options;
    if (failures === 0) return pollInterval;
    const asked = retryAfterMs(error) ?? backoffMs(failures, pollInterval, POLL_LAST_MS);
    return Math.min(asked, POLL_LAST_MS);
  }
}

const FILTER = { status: 'waiting_for_tool', limit: PAGE } as const;

/** Why it stops by itself. */
class Fault {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}
