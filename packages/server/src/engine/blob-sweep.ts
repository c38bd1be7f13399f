/**
 * Removes the blobs that nobody needs and that nobody removed: their process died, or two holders let go of them at once. A blob
 * that is not needed is never needed again (`../journal/contents.ts`), so it does not matter how long the removal takes.
 */
import type { Log } from '../basics/log.ts';
import { SweepTimer } from '../basics/sweep-timer.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { BLOB_GRACE_MS, type Contents } from '../journal/contents.ts';

/** Rare, because a sweep looks at every blob of a week of runs, and what it finds is little. */
const INTERVAL_MS = 6 * 3600 * 1000;
/** A server that is restarted every hour sweeps, too. */
const FIRST_MS = 60_000;
/** Small, so that the store is never blocked for long. */
const PAGE = 500;

export interface BlobSweepOptions {
  contents: Contents;
  blobs: BlobStore;
  log: Log;
  graceMs?: number;
}

export class BlobSweep {
  readonly #options: BlobSweepOptions;
  readonly #timer = new SweepTimer((signal) => this.sweep(signal));

  #first: NodeJS.Timeout | undefined;

  constructor(options: BlobSweepOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer.startEvery(INTERVAL_MS);
    this.#first = setTimeout(() => this.#timer.sweepNow(), FIRST_MS);
  }

  stop(): Promise<void> {
    clearTimeout(this.#first);
    return this.#timer.stop();
  }

  async sweep(signal?: AbortSignal): Promise<void> {
    const { contents, blobs, log, graceMs = BLOB_GRACE_MS } = this.#options;
    let removed = 0;
    try {
      for (let after: string | undefined; signal?.aborted !== true; ) {
        const page = await blobs.list(after, PAGE);
        const last = page.at(-1);
        if (last === undefined) break;
        const unneeded = await contents.unneeded(page, graceMs);
        await blobs.remove(unneeded);
        removed += unneeded.length;
        after = last.blobId;
      }
    } catch (error) {
      log.error({ err: error }, 'removing unneeded contents failed; it will be retried');
    }
    if (removed > 0) log.info({ removed }, 'removed contents that nobody needs');
  }
}
