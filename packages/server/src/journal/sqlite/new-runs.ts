/**
 * What this process knows about new runs without reading: it is the only one that writes to the database. A subscriber that comes
 * right after the creation, and the first worker, then cost no read.
 *
 * A run is known from the moment at which its creation is sent to the writer until something else about it is sent. Not until that is
 * reported: reads of the database see a commit earlier, and a client that has seen the end of a run must not see its beginning
 * again. Only a second claim is not foreseen; until it is reported, the time and the number of the first one stand.
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

  /** Called when its creation is sent. */
  add(runId: string): void {
    this.#untouched.set(runId, true);
  }

  /** Called when a claim is reported. */
  claimed({ runId, run, log }: Leased): void {
    const isNew = log !== undefined && this.#untouched.get(runId) === true;
    if (isNew) this.#claimed.set(runId, { run, log });
    else this.#claimed.delete(runId);
  }

  /** Called when something is sent that changes its log, or when there is no such run after all. */
  forget(runId: string): void {
    this.#untouched.delete(runId);
    this.#claimed.delete(runId);
  }

  /** Whether it certainly has no event. */
  isWithoutEvents(runId: string): boolean {
    return this.#untouched.get(runId) === true;
  }

  /** The run, if it was claimed once, and nothing else. */
  find(runId: string): StoredRun | undefined {
    return this.#claimed.get(runId)?.run;
  }

  /** Its log, once, if it was claimed once, and nothing else. */
  takeLog(runId: string): LogRecord[] | undefined {
    const claimed = this.#claimed.get(runId);
    const log = claimed?.log;
    if (claimed !== undefined) claimed.log = undefined;
    return log?.map(toLogRecord);
  }
}
