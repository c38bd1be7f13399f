/** Evicts finished runs when their time is over: their records, then their workspaces. */
import type { Journal } from '../journal/journal.ts';
import type { Log } from '../log.ts';

/** Small, so that an eviction never holds up the appends of running ones for long. */
const BATCH = 20;
const INTERVAL_MAX_MS = 60_000;
const INTERVAL_MIN_MS = 250;

export interface RetentionOptions {
  journal: Journal;
  retentionMs: number;
  discardWorkspace(runId: string): Promise<void>;
  log: Log;
}

export class Retention {
  readonly #options: RetentionOptions;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #stopped = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  start(): void {
    const interval = Math.min(INTERVAL_MAX_MS, Math.max(INTERVAL_MIN_MS, this.#options.retentionMs / 10));
    this.#timer = setInterval(() => {
      this.#sweeping ??= this.#sweep().finally(() => {
        this.#sweeping = undefined;
      });
    }, interval);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { journal, retentionMs, discardWorkspace, log } = this.#options;
    try {
      for (
        let evicted = [''], first = true;
        (first || evicted.length === BATCH) && !this.#stopped;
        first = false
      ) {
        evicted = await journal.evict(retentionMs, BATCH);
        await Promise.all(evicted.map((runId) => discardWorkspace(runId)));
      }
    } catch (error) {
      log.error({ err: error }, 'evicting old runs failed; it is tried again');
    }
  }
}
