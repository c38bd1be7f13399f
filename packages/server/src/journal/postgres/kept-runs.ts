/**
 * The part of the Postgres driver that knows how long runs are kept. Each server has a disk of its own with the files of the
 * runs that it worked on; records and checkpoints are on the disk of the database, so they take no room there.
 */
import { changeOfKeeping, type KeptRuns, type MeasuredRun, SETTLED_MS } from '../kept-runs.ts';
import type { RunRow } from '../rows.ts';
import type { Announcements } from './announcements.ts';
import { ASKED, type Database, NOW } from './database.ts';
import { lockRuns } from './run-batch.ts';

export class PostgresKeptRuns implements KeptRuns {
  readonly #database: Database;
  readonly #announcements: Announcements;

  constructor(database: Database, announcements: Announcements) {
    this.#database = database;
    this.#announcements = announcements;
  }

  /** Passes over runs that somebody is keeping at this moment: `keep` locks the row before it looks at the time. */
  async expired(retentionMs: number, limit: number): Promise<string[]> {
    const rows = await this.#database.rowsByClock<Pick<RunRow, 'run_id'>>(
      ASKED,
      `SELECT run_id FROM (
         SELECT run_id FROM runs WHERE finished_at IS NOT NULL AND expires_at <= ${NOW} AND NOT kept
          ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED) own
        UNION ALL
       SELECT run_id FROM (
         SELECT run_id FROM runs WHERE finished_at <= ${NOW} - $2 AND expires_at IS NULL AND NOT kept
          ORDER BY finished_at LIMIT $3 FOR UPDATE SKIP LOCKED) usual
        LIMIT $3`,
      [retentionMs, limit],
    );
    return rows.map((row) => row.run_id);
  }

  async keep(runId: string, keep: boolean, retentionMs: number): Promise<void> {
    const change = await this.#database.transaction(
      ASKED,
      async (tx, [run]: RunRow[]) => {
        const changed = changeOfKeeping(run, { runId, keep, retentionMs }, tx.now);
        if (changed === undefined) return undefined;
        // Its log has not grown, so the trigger that marks changes does not see this one.
        tx.send(
          `UPDATE runs SET kept = $2, expires_at = $3, changed = pg_current_xact_id(),
                           settled = CASE WHEN finished_at IS NOT NULL THEN pg_current_xact_id() END
            WHERE run_id = $1`,
          [runId, changed.kept, changed.expires_at],
        );
        return changed;
      },
      lockRuns([runId]),
    );
    if (change !== undefined) this.#announcements.changes();
  }

  async unmeasured(serverId: string, limit: number): Promise<string[]> {
    const rows = await this.#database.rowsByClock<Pick<RunRow, 'run_id'>>(
      ASKED,
      `SELECT run_id FROM workspaces w
        WHERE server_id = $2 AND bytes IS NULL AND NOT evicted
          AND (SELECT finished_at FROM runs r WHERE r.run_id = w.run_id) <= ${NOW} - $3
        LIMIT $4`,
      [serverId, SETTLED_MS, limit],
    );
    return rows.map((row) => row.run_id);
  }

  async measured(serverId: string, runs: readonly MeasuredRun[]): Promise<void> {
    if (runs.length === 0) return;
    await this.#database.transaction(ASKED, async (tx) => {
      tx.send(
        `UPDATE workspaces w SET bytes = m.bytes, ended_at = r.finished_at
           FROM unnest ($2::text[], $3::bigint[]) AS m (run_id, bytes) JOIN runs r USING (run_id)
          WHERE w.server_id = $1 AND w.run_id = m.run_id`,
        [serverId, runs.map(({ runId }) => runId), runs.map(({ bytes }) => bytes)],
      );
    });
  }

  async outdated(serverId: string, runId: string): Promise<void> {
    await this.#database.rows(
      ASKED,
      'UPDATE workspaces SET bytes = NULL WHERE server_id = $1 AND run_id = $2 AND bytes IS NOT NULL AND NOT evicted',
      [serverId, runId],
    );
  }

  async used(serverId: string): Promise<number> {
    const [row] = await this.#database.rows<{ bytes: number }>(
      ASKED,
      'SELECT bytes FROM disk_use WHERE server_id = $1',
      [serverId],
    );
    return row?.bytes ?? 0;
  }

  giveUp(serverId: string, bytes: number, limit: number): Promise<number> {
    return this.#database.transaction(ASKED, async (tx) => {
      const oldest = await tx.rows<{ run_id: string; bytes: number }>(
        `SELECT r.run_id, w.bytes FROM workspaces w JOIN runs r ON r.run_id = w.run_id
          WHERE w.server_id = $1 AND w.bytes > 0 AND NOT w.evicted AND NOT w.gives_way
            AND NOT r.kept AND r.evicted_for IS NULL
          ORDER BY w.ended_at LIMIT $2 FOR UPDATE OF r SKIP LOCKED`,
        [serverId, limit],
      );
      let freed = 0;
      const given = oldest.filter((run) => {
        if (freed >= bytes) return false;
        freed += run.bytes;
        return true;
      });
      if (given.length === 0) return 0;
      const ids = given.map((run) => run.run_id);
      tx.send("UPDATE runs SET expires_at = $2, evicted_for = 'room' WHERE run_id = ANY ($1::text[])", [
        ids,
        tx.now,
      ]);
      tx.send('UPDATE workspaces SET gives_way = true WHERE server_id = $1 AND run_id = ANY ($2::text[])', [
        serverId,
        ids,
      ]);
      return given.length;
    });
  }
}
