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

export class NewRuns {
  readonly #untouched = new TransientMap<true>();
  readonly #logs = new TransientMap<readonly RecordRow[]>();

  created(runId: string): void {
    this.#untouched.set(runId, true);
  }

  /** `log`: all of it, if this was the first claim. */
  claimed(runId: string, log: readonly RecordRow[] | undefined): void {
    if (log === undefined) this.#logs.delete(runId);
    else this.#logs.set(runId, log);
  }

  /** Something was written to its log. */
  changed(runId: string): void {
    this.#untouched.delete(runId);
    this.#logs.delete(runId);
  }

  /** Whether it certainly has no event. */
  isWithoutEvents(runId: string): boolean {
    return this.#untouched.get(runId) === true;
  }

  /** Its log, once, if nothing has changed since the claim. */
  takeLog(runId: string): LogRecord[] | undefined {
    const log = this.#logs.get(runId);
    this.#logs.delete(runId);
    return log?.map(toLogRecord);
  }
}
