/**
 * Keeps what ended runs take on the disk of this server within its bound. The files of a run are measured after its end,
 * and after a client has changed them, by another process (du), and the size is in the store; so a sweep adds up numbers and walks over no directory. The runs that
 * ended first become due before their time; `Retention` deletes them like any other. Kept and unfinished runs stay. If they
 * alone are too much, the operator is told: once, until there is room again.
 */
import type { Log } from '../basics/log.ts';
import type { KeptRuns, MeasuredRun } from '../journal/kept-runs.ts';

/** Small, so that the store is never blocked for long. */
const BATCH = 20;

export interface DiskBoundOptions {
  kept: Pick<KeptRuns, 'unmeasured' | 'measured' | 'outdated' | 'used' | 'giveUp'>;
  serverId: string;
  maxBytes: number;
  /** What the files of a run take on this disk. */
  diskUsage(runId: string): Promise<number>;
  log: Log;
}

export interface DiskState {
  /** By the last sweep. */
  usedBytes: number;
  maxBytes: number;
  /** The bound is exceeded, and only kept runs are left. */
  isFull: boolean;
}

export class DiskBound {
  readonly #options: DiskBoundOptions;
  #usedBytes = 0;
  #isFull = false;

  constructor(options: DiskBoundOptions) {
    this.#options = options;
  }

  get state(): DiskState {
    return { usedBytes: this.#usedBytes, maxBytes: this.#options.maxBytes, isFull: this.#isFull };
  }

  /** The files of the run are no longer those that were measured, if they were. */
  changed(runId: string): Promise<void> {
    const { kept, serverId } = this.#options;
    return kept.outdated(serverId, runId);
  }

  /** Whether runs have become due for room. */
  async enforce(signal: AbortSignal): Promise<boolean> {
    const { kept, serverId, maxBytes } = this.#options;
    await this.#measure(signal);
    let gaveUp = false;
    let isFull = false;
    for (let full = false; !full && !signal.aborted; ) {
      this.#usedBytes = await kept.used(serverId);
      const excess = this.#usedBytes - maxBytes;
      if (excess <= 0) break;
      const given = await kept.giveUp(serverId, excess, BATCH);
      if (given > 0) gaveUp = true;
      else isFull = full = true;
    }
    this.#tell(isFull);
    return gaveUp;
  }

  async #measure(signal: AbortSignal): Promise<void> {
    const { kept, serverId } = this.#options;
    for (let full = true; full && !signal.aborted; ) {
      const runIds = await kept.unmeasured(serverId, BATCH);
      const sizes: MeasuredRun[] = [];
      // One after the other: nobody waits for this, and others need the disk.
      for (const runId of runIds) {
        if (signal.aborted) break;
        sizes.push({ runId, bytes: await this.#sizeOf(runId) });
      }
      await kept.measured(serverId, sizes);
      full = runIds.length === BATCH;
    }
  }

  /** Files that cannot be measured count as none: the others must not wait for them. */
  async #sizeOf(runId: string): Promise<number> {
    try {
      return await this.#options.diskUsage(runId);
    } catch (error) {
      this.#options.log.warn(
        { runId, err: error },
        'the files of a run could not be measured; they do not count',
      );
      return 0;
    }
  }

  #tell(isFull: boolean): void {
    const { maxBytes, log } = this.#options;
    const fields = { usedBytes: this.#usedBytes, maxBytes };
    if (isFull && !this.#isFull) {
      log.warn(
        fields,
        'ended runs take more than TALARIA_RUN_DISK_BYTES, and only kept ones are left: keep fewer, or raise the bound',
      );
    }
    this.#isFull = isFull;
  }
}
