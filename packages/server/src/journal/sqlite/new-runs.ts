/**
 * What this process knows about new runs without reading the database, because it is the only one that writes there. So a
 * subscriber that comes right after the creation costs no read, and neither does the first worker.
 *
 * A run is known here from the moment its creation is sent to the writer until the next write about it is sent. The sending
 * counts, not the report of the commit: readers of the database see a commit before it is reported, and a client that has seen
 * the end of a run must not see its beginning again. Only a second claim is not noticed when it is sent: until it is reported,
 * `find` returns the time and the number of the first claim.
 */
import { TransientMap } from '../../basics/transient-map.ts';
import type { LogRecord } from '../records.ts';
import { type RecordRow, toLogRecord } from '../rows.ts';
import type { StoredRun } from '../run-state.ts';
import type { Leased } from './writer.ts';

interface ClaimedRun {
  run: StoredRun;
  /** The log, until the worker of the run has taken it. */
  log: readonly RecordRow[] | undefined;
}

export class NewRuns {
  readonly #untouched = new TransientMap<true>();
  readonly #claimed = new TransientMap<ClaimedRun>();

  /** Called when the creation of the run is sent. */
  add(runId: string): void {
    this.#untouched.set(runId, true);
  }

  /** Called when a claim is reported. */
  claimed({ runId, run, log }: Leased): void {
    const isNew = log !== undefined && this.#untouched.get(runId) === true;
    if (isNew) this.#claimed.set(runId, { run, log });
    else this.#claimed.delete(runId);
  }

  /** Called when a write is sent that changes the log of the run, or when the run was not created after all. */
  forget(runId: string): void {
    this.#untouched.delete(runId);
    this.#claimed.delete(runId);
  }

  /** Whether the run certainly has no event. */
  isWithoutEvents(runId: string): boolean {
    return this.#untouched.get(runId) === true;
  }

  /** The run, if nothing happened to it but one claim. */
  find(runId: string): StoredRun | undefined {
    return this.#claimed.get(runId)?.run;
  }

  /** The log of the run, if nothing happened to it but one claim. A second call returns nothing. */
  takeLog(runId: string): LogRecord[] | undefined {
    const claimed = this.#claimed.get(runId);
    const log = claimed?.log;
    if (claimed !== undefined) claimed.log = undefined;
    return log?.map(toLogRecord);
  }
}
