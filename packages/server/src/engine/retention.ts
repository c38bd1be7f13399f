/**
 * Evicts finished runs that are due (`../journal/kept-runs.ts`): their workspaces first, then their records. In this order a
 * crash in between leaves a run that is found again, not a workspace that nobody knows of. Blobs go last, because a blob that
 * nobody needs is found by the sweep. The store keeps the head of an evicted run (`../journal/heads.ts`) until its own retention
 * is over. Runs that are to go for room (`disk-bound.ts`) go in the same sweep.
 */

import { clearInBatches } from '../basics/clear-in-batches.ts';
import { failpoint } from '../basics/failpoints.ts';
import type { Log } from '../basics/log.ts';
import { sweepInBatches } from '../basics/sweep-in-batches.ts';
import { SweepTimer } from '../basics/sweep-timer.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Journal } from '../journal/journal.ts';
import type { DiskBound } from './disk-bound.ts';

/** Heads are small, so many of them block the store no longer than a few runs do. */
const HEADS_BATCH = 200;

export interface RetentionOptions {
  journal: Journal;
  blobs: BlobStore;
  retentionMs: number;
  /** Counted from the end of the run, too: if it is over by then, the head goes with the run. */
  headRetentionMs: number;
  /** Saves what must outlive the run. */
  beforeEviction(runId: string): Promise<void>;
  discardWorkspace(runId: string): Promise<void>;
  disk: Pick<DiskBound, 'enforce'>;
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
    const { journal, headRetentionMs, disk, log } = this.#options;
    await this.#evictDue(signal);
    const gaveUp = await disk.enforce(signal).catch((error: unknown) => {
      log.error({ err: error }, 'making room for runs failed; it will be retried');
    });
    if (gaveUp) await this.#evictDue(signal);
    const sweepHeads = (batch: number) => journal.heads.sweep(headRetentionMs, batch);
    await sweepInBatches(sweepHeads, HEADS_BATCH, signal).catch((error: unknown) => {
      log.error({ err: error }, 'deleting heads of old runs failed; it will be retried');
    });
  }

  async #evictDue(signal: AbortSignal): Promise<void> {
    const { journal, retentionMs, log } = this.#options;
    const clearing = {
      find: (limit: number) => journal.kept.expired(retentionMs, limit),
      clear: (runId: string) => this.#discard(runId),
      forget: (runIds: readonly string[]) => this.#evict(runIds),
    };
    await clearInBatches(clearing, signal).catch((error: unknown) => {
      log.error({ err: error }, 'evicting old runs failed; it will be retried');
    });
  }

  async #evict(runIds: readonly string[]): Promise<void> {
    const { journal, headRetentionMs } = this.#options;
    const unneeded = await journal.evict(runIds, { headRetentionMs });
    if (runIds.length > 0) failpoint('eviction.after-records');
    await this.#remove(unneeded);
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
      failpoint('eviction.after-workspace');
      return true;
    } catch (error) {
      log.warn({ runId, err: error }, 'a run could not be cleared away; it will be retried');
      return false;
    }
  }
}
