/** The part of the Postgres driver that knows the servers on the database. */
import { type KnownServer, type NewServer, type Servers, SILENT_MS } from '../peers.ts';
import { ASKED, type Database, NOW, type Transaction } from './database.ts';

export interface ServerRow {
  server_id: string;
  url: string;
  role: string;
  version: string;
  max_runs: number;
  started_at: number;
  seen_at: number;
  stopped_at: number | null;
}

export function toKnownServer(row: ServerRow): KnownServer {
  const { server_id: serverId, url, role, version, max_runs: maxRuns } = row;
  const times = { startedAt: row.started_at, seenAt: row.seen_at, stoppedAt: row.stopped_at };
  return { serverId, url, role, version, maxRuns, ...times };
}

/** How many more runs the other servers could work on now. */
export async function roomElsewhere(tx: Transaction, serverId: string): Promise<number> {
  const [row] = await tx.rows<{ room: number }>(
    `SELECT coalesce(sum(greatest(0, s.max_runs - (
              SELECT count(*) FROM runs r
               WHERE r.finished_at IS NULL AND r.epoch > 0 AND r.parked_until IS NULL AND r.lease_owner = s.server_id))), 0)::bigint AS room
       FROM servers s WHERE s.server_id <> $1 AND s.stopped_at IS NULL AND s.seen_at > $2`,
    [serverId, tx.now - SILENT_MS],
  );
  return row!.room;
}

export class PostgresServers implements Servers {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  announce({ serverId, url, role, version, maxRuns }: NewServer): Promise<number> {
    return this.#database.transaction(ASKED, async (tx) => {
      // Later than before, even if the clock was set back: it distinguishes one life of a server from the next.
      const [row] = await tx.rows<{ started_at: number }>(
        `INSERT INTO servers AS s (server_id, url, role, version, max_runs, started_at, seen_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
             ON CONFLICT (server_id) DO UPDATE
            SET url = excluded.url, role = excluded.role, version = excluded.version, max_runs = excluded.max_runs,
                seen_at = excluded.seen_at, started_at = greatest(excluded.started_at, s.started_at + 1), stopped_at = NULL
         RETURNING started_at`,
        [serverId, url, role, version, maxRuns, tx.now],
      );
      return row!.started_at;
    });
  }

  renew({ serverId, url, role, version, maxRuns }: NewServer, startedAt: number): Promise<boolean> {
    return this.#database.transaction(ASKED, async (tx) => {
      const renewed = await tx.rows(
        `INSERT INTO servers AS s (server_id, url, role, version, max_runs, started_at, seen_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (server_id) DO UPDATE SET seen_at = excluded.seen_at WHERE s.started_at = excluded.started_at
         RETURNING 1`,
        [serverId, url, role, version, maxRuns, startedAt, tx.now],
      );
      return renewed.length > 0;
    });
  }

  leave(serverId: string, startedAt: number): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      tx.send('UPDATE servers SET seen_at = $3, stopped_at = $3 WHERE server_id = $1 AND started_at = $2', [
        serverId,
        startedAt,
        tx.now,
      ]);
    });
  }

  async list(): Promise<{ now: number; servers: KnownServer[] }> {
    // One row of nulls when there is no server.
    const rows = await this.#database.rowsByClock<ServerRow & { now: number }>(
      ASKED,
      `SELECT s.*, clock.now FROM (SELECT ${NOW} AS now) clock LEFT JOIN servers s ON true
        ORDER BY seen_at DESC, server_id`,
    );
    const servers = rows.filter(({ server_id: serverId }) => serverId !== null).map(toKnownServer);
    return { now: rows[0]!.now, servers };
  }

  forget(unseenMs: number): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      const gone = await tx.rows<{ server_id: string }>(
        `DELETE FROM servers s WHERE seen_at <= $1
            AND NOT EXISTS (SELECT 1 FROM workspaces w WHERE w.server_id = s.server_id AND NOT evicted)
         RETURNING server_id`,
        [tx.now - unseenMs],
      );
      const ids = gone.map((row) => row.server_id);
      tx.send('DELETE FROM workspaces WHERE evicted AND server_id = ANY ($1::text[])', [ids]);
      tx.send('DELETE FROM disk_use WHERE server_id = ANY ($1::text[])', [ids]);
    });
  }
}
