/** What finished runs take on the disk of this server, and whether that is more than they may. The store is only read. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Config } from '../../../config/index.ts';
import { halfOfDisk } from '../../../files/half-of-disk.ts';
import { Database } from '../../../journal/postgres/database.ts';
import { schemaVersion } from '../../../journal/postgres/migrations.ts';
import { bytes } from '../../text/bytes.ts';
import type { Finding } from '../finding.ts';

/** The first schemas that know it. */
const SQLITE_SCHEMA = 20;
const POSTGRES_SCHEMA = 14;

export async function checkRunDisk({
  database,
  dataDir,
  runDiskBytes,
}: Pick<Config, 'database' | 'dataDir' | 'runDiskBytes'>): Promise<Finding> {
  const max = runDiskBytes ?? halfOfDisk(dataDir);
  const used =
    database.kind === 'sqlite' ? usedInSqlite(database.path) : await usedInPostgres(database.url, dataDir);
  const detail = `finished runs take ${bytes(used)} of at most ${bytes(max)}`;
  if (used <= max) return { status: 'ok', detail };
  return {
    status: 'warning',
    detail: `${detail}; a server deletes those that ended first, but none that is kept`,
    fix: 'If that stays so, keep fewer runs (talaria keep --undo), or raise TALARIA_RUN_DISK_BYTES',
  };
}

function usedInSqlite(path: string): number {
  if (!existsSync(path)) return 0;
  using db = new DatabaseSync(path, { readOnly: true });
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (version < SQLITE_SCHEMA) return 0;
  return (db.prepare('SELECT bytes FROM disk_use').get() as { bytes: number }).bytes;
}

async function usedInPostgres(url: string, dataDir: string): Promise<number> {
  const path = join(dataDir, 'server-id');
  if (!existsSync(path)) return 0;
  const serverId = readFileSync(path, 'utf8').trim();
  const connection = new Database({ url, connections: 1 });
  try {
    return await connection.transaction({ waitMs: 0 }, async (tx) => {
      if ((await schemaVersion(tx)) < POSTGRES_SCHEMA) return 0;
      const sql = 'SELECT bytes FROM disk_use WHERE server_id = $1';
      const [row] = await tx.rows<{ bytes: number }>(sql, [serverId]);
      return row?.bytes ?? 0;
    });
  } finally {
    await connection.close();
  }
}
