/**
 * Evicts finished runs when their time is over: their workspaces first, then their records. In this order a crash in
 * between leaves a run that is found again, not a workspace that nobody knows of.
 */
import type { Journal } from '../journal/journal.ts';
import type { Log } from '../log.ts';
import { SweepTimer } from './sweep-timer.ts';

/** Small, so that an eviction never holds up the appends of running ones for long. */
const BATCH = 20;

export interface RetentionOptions {
  journal: Journal;
  retentionMs: number;
  /** Keeps what is to outlive the run. */
  beforeEviction(runId: string): Promise<void>;
  discardWorkspace(runId: string): Promise<void>;
  log: Log;
}

export class Retention {
  readonly #options: RetentionOptions;
  readonly #timer = new SweepTimer((signal) => this.#sweep(signal));

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer.start(this.#options.retentionMs);
  }

  stop(): Promise<void> {
    return this.#timer.stop();
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { journal, retentionMs, log } = this.#options;
    /** Runs of which something cannot be kept or deleted now: they stay for the next sweep and hold up no other. */
    const stuck = new Set<string>();
    try {
      let full = true;
      while (full && !signal.aborted) {
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
    const { beforeEviction, discardWorkspace, log } = this.#options;
    try {
      await beforeEviction(runId);
      await discardWorkspace(runId);
      return true;
    } catch (error) {
      log.warn({ runId, err: error }, 'a run could not be cleared away; it is tried again');
      return false;
    }
  }
}
