/** The other servers on the database: living ones must be reachable from here, for the files of their runs. */

import { isSilent, type KnownServer } from '../../../journal/peers.ts';
import { Database } from '../../../journal/postgres/database.ts';
import { schemaVersion } from '../../../journal/postgres/migrations.ts';
import { PostgresServers } from '../../../journal/postgres/servers.ts';
import type { Finding } from '../finding.ts';

const ANSWER_MS = 3_000;
/** The schema in which servers know each other. */
const KNOWS_SERVERS = 2;

export async function checkPeers(databaseUrl: string): Promise<Finding> {
  const servers = await livingServers(databaseUrl);
  if (servers === undefined) {
    return { status: 'warning', detail: 'not checked: the database cannot be read' };
  }
  if (servers.length === 0) return { status: 'ok', detail: 'no server is at work on this database' };
  const tried = await Promise.all(
    servers.map(async ({ serverId, url, role }) => ({
      name: `${serverId} (${role}) at ${url}`,
      problem: await whyUnreachable(url),
    })),
  );
  const unreachable = tried.filter(({ problem }) => problem !== undefined);
  return {
    status: unreachable.length === 0 ? 'ok' : 'warning',
    detail: `${tried.length - unreachable.length} of ${tried.length} servers on this database can be reached`,
    facts: tried.map(({ name, problem }) => (problem === undefined ? name : `${name}: ${problem}`)),
    ...(unreachable.length === 0
      ? {}
      : {
          fix: 'Set TALARIA_ADVERTISE_URL on each of those to an address that this machine can reach; until then this server cannot serve the files of their runs',
        }),
  };
}

/** Undefined if they cannot be read; the database check says why. */
async function livingServers(url: string): Promise<KnownServer[] | undefined> {
  const database = new Database({ url, connections: 1 });
  try {
    if ((await database.transaction({ waitMs: 0 }, schemaVersion)) < KNOWS_SERVERS) return [];
    const { now, servers } = await new PostgresServers(database).list();
    return servers.filter((server) => !isSilent(server, now));
  } catch {
    return undefined;
  } finally {
    await database.close();
  }
}

async function whyUnreachable(url: string): Promise<string | undefined> {
  try {
    const { status } = await fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_MS) });
    return status === 200 ? undefined : `answers with ${status}`;
  } catch (error) {
    const { cause, message } = error as Error;
    return cause instanceof Error ? cause.message : message;
  }
}
