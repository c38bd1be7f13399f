/**
 * Evicts finished runs when their time is over: their workspaces first, then their records. In this order a crash in
 * between leaves a run that is found again, not a workspace that nobody knows of.
 */
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
    const { journal, retentionMs, log } = this.#options;
    /** Runs whose workspace cannot be deleted now: they stay for the next sweep and hold up no other. */
    const stuck = new Set<string>();
    try {
      let full = true;
      while (full && !this.#stopped) {
        const limit = BATCH + stuck.size;
        const expired = await journal.expired(retentionMs, limit);
        full = expired.length === limit;
        const due = expired.filter((runId) => !stuck.has(runId));
        const discarded = await Promise.all(due.map((runId) => this.#discard(runId)));
        for (const [i, runId] of due.entries()) if (!discarded[i]) stuck.add(runId);
        await journal.evict(due.filter((runId) => !stuck.has(runId)));
      }
    } catch (error) {
      log.error({ err: error }, 'evicting old runs failed; it is tried again');
    }
  }

  async #discard(runId: string): Promise<boolean> {
    const { discardWorkspace, log } = this.#options;
    try {
      await discardWorkspace(runId);
      return true;
    } catch (error) {
      log.warn({ runId, err: error }, 'a workspace could not be deleted; it is tried again');
      return false;
    }
  }
}
