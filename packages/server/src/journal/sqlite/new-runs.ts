/**
 * What this process knows about new runs without reading: it is the only one that writes to the database. A subscriber that comes
 * right after the creation, and the first worker, then cost no read.
 *
 * What it says holds at the moment of the call. An event that is durable but not yet reported to this thread may be missing, and
 * wakes its watchers when it is reported.
 */
import { TransientMap } from '../../basics/transient-map.ts';
import type { LogRecord } from '../records.ts';
import { type RecordRow, toLogRecord } from '../rows.ts';
import type { StoredRun } from '../run-state.ts';
import type { Leased } from './writer.ts';

interface ClaimedRun {
  run: StoredRun;
  /** Until its worker has taken it. */
  log: readonly RecordRow[] | undefined;
}

export class NewRuns {
  readonly #untouched = new TransientMap<true>();
  readonly #claimed = new TransientMap<ClaimedRun>();

  created(runId: string): void {
    this.#untouched.set(runId, true);
  }

  claimed({ runId, run, log }: Leased): void {
    if (log === undefined) this.#claimed.delete(runId);
    else this.#claimed.set(runId, { run, log });
  }

  /** Something was written to its log. */
  changed(runId: string): void {
    this.#untouched.delete(runId);
    this.#claimed.delete(runId);
  }

  /** Whether it certainly has no event. */
  isWithoutEvents(runId: string): boolean {
    return this.#untouched.get(runId) === true;
  }

  /** The run, if nothing has changed since its first claim. */
  find(runId: string): StoredRun | undefined {
    return this.#claimed.get(runId)?.run;
  }

  /** Its log, once, if nothing has changed since its first claim. */
  takeLog(runId: string): LogRecord[] | undefined {
    const claimed = this.#claimed.get(runId);
    const log = claimed?.log;
    if (claimed !== undefined) claimed.log = undefined;
    return log?.map(toLogRecord);
  }
}
