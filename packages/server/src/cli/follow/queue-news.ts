/**
 * Tells the view of a followed run that it waits for a worker. Events do not say so: before its first event, and after an
 * answer, a run may wait for a place, and then its poll says why.
 */
import type { RunEvent } from '@talaria/client';
import type { FollowOptions } from './follow-run.ts';

const EVERY_MS = 2_000;

/** After these nothing comes until somebody works on the run. */
const BEFORE_WORK: ReadonlySet<string> = new Set(['approval.responded', 'run.waiting']);

export class QueueNews implements Disposable {
  readonly #options: FollowOptions;
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout | undefined;
  #mayWait = true;
  #asking = false;

  constructor(options: FollowOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    if (options.view.queued !== undefined) this.#timer = setInterval(() => void this.#ask(), EVERY_MS);
  }

  see({ event }: RunEvent): void {
    this.#mayWait = BEFORE_WORK.has(event);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #ask(): Promise<void> {
    if (!this.#mayWait || this.#asking) return;
    this.#asking = true;
    const { client, runId, view } = this.#options;
    const options = { signal: this.#signal, maxRetries: 0 };
    const run = await client.runs.get(runId, options).catch(() => undefined);
    this.#asking = false;
    // The answer may be older than the last event.
    if (this.#mayWait && run?.queue !== undefined) view.queued?.(run.queue);
  }
}
