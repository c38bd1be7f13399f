/**
 * Evicts finished runs when their retention is over: their workspaces first, then their records. In this order a crash
 * in between leaves a run that is found again, not a workspace that nobody knows of. Blobs go last, because a blob that nobody
 * needs is found by the sweep.
 */

import type { Log } from '../basics/log.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Journal } from '../journal/journal.ts';
import { clearInBatches } from './clear-in-batches.ts';
import { SweepTimer } from './sweep-timer.ts';

export interface RetentionOptions {
  journal: Journal;
  blobs: BlobStore;
  retentionMs: number;
  /** Saves what must outlive the run. */
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
    const clearing = {
      find: (limit: number) => journal.expired(retentionMs, limit),
      clear: (runId: string) => this.#discard(runId),
      forget: async (runIds: readonly string[]) => this.#remove(await journal.evict(runIds)),
    };
    await clearInBatches(clearing, signal).catch((error: unknown) => {
      log.error({ err: error }, 'evicting old runs failed; it will be retried');
    });
  }

  async #remove(unneeded: readonly string[]): Promise<void> {
    const { blobs, log } = this.#options;
    await blobs.remove(unneeded).catch((error: unknown) => {
      log.warn({ err: error }, 'contents of evicted runs could not be removed; the next sweep removes them');
    });
  }

  async #discard(runId: string): Promise<boolean> {
    const { beforeEviction, discardWorkspace, log } = this.#options;
    try {
      await beforeEviction(runId);
      await discardWorkspace(runId);
      return true;
    } catch (error) {
      log.warn({ runId, err: error }, 'a run could not be cleared away; it will be retried');
      return false;
    }
  }
}
