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
  /** Of runs that are gone: nothing else remembers them, so they stay here until they are deleted. */
  readonly #workspaces = new Set<string>();

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
    const { journal, retentionMs, log } = this.#options;
    try {
      let full = true;
      while (full && !this.#stopped) {
        const evicted = await journal.evict(retentionMs, BATCH);
        full = evicted.length === BATCH;
        for (const runId of evicted) this.#workspaces.add(runId);
        await Promise.all([...this.#workspaces].map((runId) => this.#discard(runId)));
      }
    } catch (error) {
      log.error({ err: error }, 'evicting old runs failed; it is tried again');
    }
  }

  async #discard(runId: string): Promise<void> {
    const { discardWorkspace, log } = this.#options;
    try {
      await discardWorkspace(runId);
      this.#workspaces.delete(runId);
    } catch (error) {
      log.warn({ runId, err: error }, 'a workspace could not be deleted; it is tried again');
    }
  }
}
