/**
 * The place of a run in the queue, in one statement for both stores. It reads as many index entries as runs are counted, so it
 * costs nothing where nobody waits, and a bounded read where many do.
 */
import { POSITION_MAX, type QueuePosition } from './journal.ts';

export interface PositionRow {
  /** SQLite has no booleans. */
  behind_session: boolean | number;
  before: number;
}

interface Dialect {
  /** The ordinal of the run, and the time of the store. */
  n: string;
  now: string;
  /** Names the index to use, where the planner has to be told. */
  indexedBy(index: string): string;
}

/** Of each owner, runs that were worked on before come first, then new ones; each in the order of creation. */
export function selectPosition({ n, now, indexedBy }: Dialect): string {
  const isFree = (run: string) => `(${run}.lease_until IS NULL OR ${run}.lease_until <= ${now})`;
  const begun = `SELECT b.n FROM runs b ${indexedBy('runs_begun')}
     WHERE b.owner = r.owner AND b.finished_at IS NULL AND b.epoch > 0 AND b.parked_until IS NULL
       AND ${isFree('b')} AND (r.epoch = 0 OR b.n < r.n)
     ORDER BY b.n LIMIT ${POSITION_MAX}`;
  const fresh = `SELECT f.n FROM runs f ${indexedBy('runs_new')}
     WHERE f.owner = r.owner AND f.finished_at IS NULL AND f.epoch = 0 AND r.epoch = 0 AND f.n < r.n
     ORDER BY f.n LIMIT ${POSITION_MAX}`;
  return `SELECT EXISTS (SELECT 1 FROM runs e ${indexedBy('runs_unfinished_by_session')}
            WHERE e.owner = r.owner AND e.session_id = r.session_id AND e.finished_at IS NULL AND e.n < r.n)
            AS behind_session,
          (SELECT count(*) FROM (${begun}) begun)
            + (SELECT count(*) FROM (${fresh}) fresh) AS before
     FROM runs r WHERE r.n = ${n} AND r.finished_at IS NULL AND r.parked_until IS NULL AND ${isFree('r')}`;
}

export function toPosition(row: PositionRow, isServedElsewhere: boolean): QueuePosition {
  const position = Math.min(row.before + 1, POSITION_MAX);
  return { position, isBehindSession: Boolean(row.behind_session), isServedElsewhere };
}
