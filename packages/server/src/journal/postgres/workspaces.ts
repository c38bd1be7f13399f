/**
 * The part of the Postgres driver that knows where workspaces are. Functions that take a transaction are part of the
 * transaction of a run.
 */
import type { Place, WorkspacePlaces } from '../peers.ts';
import { ASKED, type Database, type Transaction } from './database.ts';
import { type ServerRow, toKnownServer } from './servers.ts';

/** The run, which this transaction has locked, has its workspace there under this epoch. */
export function placed(
  tx: Transaction,
  { runId, serverId, epoch }: { runId: string; serverId: string; epoch: number },
): void {
  tx.send(
    `INSERT INTO workspaces (run_id, server_id, epoch, made_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (run_id, server_id) DO UPDATE SET epoch = excluded.epoch, made_at = excluded.made_at`,
    [runId, serverId, epoch, tx.now],
  );
}

export function workspacesOfEvictedRuns(tx: Transaction, runIds: readonly string[]): void {
  tx.send('UPDATE workspaces SET evicted = true WHERE run_id = ANY ($1::text[])', [runIds]);
}

export class PostgresWorkspacePlaces implements WorkspacePlaces {
  readonly place: WorkspacePlaces['place'];
  readonly #database: Database;

  constructor(database: Database, place: WorkspacePlaces['place']) {
    this.#database = database;
    this.place = place;
  }

  async locate(runId: string): Promise<Place | undefined> {
    const [row] = await this.#database.rows<Partial<ServerRow> & { placed_on: string }>(
      ASKED,
      `SELECT w.server_id AS placed_on, s.*
         FROM workspaces w LEFT JOIN servers s USING (server_id)
        WHERE w.run_id = $1 ORDER BY w.epoch DESC LIMIT 1`,
      [runId],
    );
    if (row === undefined) return undefined;
    const server = row.server_id === null ? undefined : toKnownServer(row as ServerRow);
    return { serverId: row.placed_on, server };
  }

  adopt(serverId: string, runIds: readonly string[]): Promise<string[]> {
    return this.#database.transaction(ASKED, async (tx) => {
      tx.send(
        `INSERT INTO workspaces (run_id, server_id, epoch, made_at)
         SELECT run_id, $2, 0, $3 FROM runs WHERE run_id = ANY ($1::text[]) ON CONFLICT DO NOTHING`,
        [runIds, serverId, tx.now],
      );
      const rows = await tx.rows<{ run_id: string }>(
        `SELECT run_id FROM unnest ($1::text[]) AS found (run_id)
          WHERE NOT EXISTS (SELECT 1 FROM workspaces w WHERE w.run_id = found.run_id AND w.server_id = $2)`,
        [runIds, serverId],
      );
      return rows.map((row) => row.run_id);
    });
  }

  async evicted(serverId: string, limit: number): Promise<string[]> {
    const rows = await this.#database.rows<{ run_id: string }>(
      ASKED,
      'SELECT run_id FROM workspaces WHERE server_id = $1 AND evicted LIMIT $2',
      [serverId, limit],
    );
    return rows.map((row) => row.run_id);
  }

  removed(serverId: string, runIds: readonly string[]): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      tx.send('DELETE FROM workspaces WHERE server_id = $1 AND run_id = ANY ($2::text[]) AND evicted', [
        serverId,
        runIds,
      ]);
    });
  }
}
