/**
 * The part of the Postgres driver that tells which runs have changed. The mark of a change is the id of its transaction,
 * which a trigger writes into the row. Ids are given in the order in which transactions begin to write, and they commit
 * in any order. So a place is a snapshot of the database: a change comes after it if its transaction is not visible in
 * it, whatever its id.
 *
 * A cursor has room for the lowest id that the snapshot has not seen (its xmin). So a reader that comes
 * back with a cursor gets some runs again: those changed by later transactions that the snapshot had seen.
 */
import { TalariaError } from '@talaria/protocol';
import { type ChangedRun, type ChangePlace, type ChangeRead, type Changes, FEED_CURSOR } from '../changes.ts';
import { Cursors } from '../cursors.ts';
import { LISTED_RUNS } from '../listed-runs.ts';
import { type ListedRow, toStoredRun } from '../rows.ts';
import type { StoredRun } from '../run-state.ts';
import type { Announcements } from './announcements.ts';
import { ASKED, type Database, WATCHING } from './database.ts';

interface PlaceRow {
  xmin: number;
  seen: string;
}

export class PostgresChanges implements Changes {
  readonly #database: Database;
  readonly #announcements: Announcements;
  readonly #key: Uint8Array;

  constructor(database: Database, announcements: Announcements, key: Uint8Array) {
    this.#database = database;
    this.#announcements = announcements;
    this.#key = key;
  }

  async now(): Promise<ChangePlace> {
    const { rows, era: history } = await this.#database.rowsWithEra<PlaceRow>(
      ASKED,
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin, pg_current_snapshot()::text AS seen`,
    );
    return toPlace(rows[0]!, history);
  }

  /**
   * One statement, and therefore one snapshot. A row from another cluster (a restored dump) may name a transaction that
   * this one has not reached: it is not visible in any snapshot, and no change.
   */
  async read(owners: readonly string[], after: ChangePlace): Promise<ChangeRead> {
    const { rows, era: history } = await this.#database.rowsWithEra<
      PlaceRow & (ChangedRun | { ordinal: null; mark: null })
    >(
      WATCHING,
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin, pg_current_snapshot()::text AS seen,
              c.n AS ordinal, c.mark::text::bigint AS mark
         FROM (VALUES (1)) AS always LEFT JOIN (
           SELECT n, changed AS mark FROM runs
            WHERE owner = ANY ($1::text[]) AND finished_at IS NULL AND changed >= $2::xid8
            UNION ALL
           SELECT n, settled AS mark FROM runs WHERE owner = ANY ($1::text[]) AND settled >= $2::xid8
            UNION ALL
           SELECT n, changed AS mark FROM run_heads WHERE owner = ANY ($1::text[]) AND changed >= $2::xid8
         ) c ON pg_visible_in_snapshot(c.mark, pg_current_snapshot())
            AND ($3::pg_snapshot IS NULL OR NOT pg_visible_in_snapshot(c.mark, $3::pg_snapshot))
        ORDER BY c.mark`,
      [owners, String(after.mark), after.seen ?? null],
    );
    if (after.history !== history) throw otherHistory();
    return {
      changed: rows.filter((row) => row.ordinal !== null).map(({ ordinal, mark }) => ({ ordinal, mark })),
      place: toPlace(rows[0]!, history),
    };
  }

  async runs(ordinals: readonly number[], maxChars: number): Promise<StoredRun[]> {
    const rows = await this.#database.rows<ListedRow>(
      WATCHING,
      `SELECT * FROM (
         SELECT r.*, i, sum(octet_length(state)) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
           FROM unnest ($1::bigint[]) WITH ORDINALITY AS wanted (n, i) JOIN ${LISTED_RUNS} USING (n)) sized
        WHERE coalesce(before, 0) < $2 ORDER BY i`,
      [ordinals, maxChars],
    );
    return rows.map(toStoredRun);
  }

  seal(owner: string, { mark, history = '' }: ChangePlace): string {
    return this.#cursors(history).seal(owner, mark);
  }

  async open(owner: string, cursor: string): Promise<ChangePlace> {
    const { mark: present, history = '' } = await this.now();
    const mark = this.#cursors(history).open(owner, cursor);
    if (mark > present) throw otherHistory();
    return { mark, history };
  }

  watch(listener: () => void): () => void {
    return this.#announcements.watchChanges(listener);
  }

  /** In another history, and after a crash, the same ids are those of other transactions. */
  #cursors(history: string): Cursors {
    return new Cursors(this.#key, `changes ${history}`, FEED_CURSOR);
  }
}

function toPlace({ xmin, seen }: PlaceRow, history: string): ChangePlace {
  return { mark: xmin, seen, history };
}

function otherHistory(): TalariaError {
  const message =
    'The database has changed its history since, by a failover or a crash: list the runs, and begin without a cursor';
  return new TalariaError('invalid_cursor', { message, param: 'after' });
}
