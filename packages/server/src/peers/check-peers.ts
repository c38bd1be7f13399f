/**
 * What `/health/detailed` says about the other servers on the store. This server cannot fix it if one of them is
 * silent, or none works on runs, so that does not make it unhealthy.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Check } from '../basics/check.ts';
import { isSilent, type KnownServer, type Servers } from '../journal/peers.ts';

/** A server that was silent for longer is not shown. */
const GONE_MS = 600_000;
/** If the store takes longer to answer, the check of the store shows that. */
const ANSWER_MS = 2_000;

export interface PeersCheck extends Check {
  servers: object[];
}

export async function checkPeers(
  store: Pick<Servers, 'list'>,
  selfId: string,
  answerMs = ANSWER_MS,
): Promise<PeersCheck> {
  const given = new AbortController();
  const known = await Promise.race([
    store.list().catch(() => undefined),
    delay(answerMs, undefined, { signal: given.signal }).catch(() => undefined),
  ]);
  given.abort();
  if (known === undefined) {
    return { status: 'degraded', detail: 'The store does not say which servers there are', servers: [] };
  }
  const { now } = known;
  const servers = known.servers.filter(
    ({ stoppedAt, seenAt }) => stoppedAt === null && now - seenAt < GONE_MS,
  );
  const seen = servers.filter((server) => !isSilent(server, now));
  const works = seen.some(({ maxRuns }) => maxRuns > 0);
  const detail = `${seen.length} of ${servers.length} servers on this store were seen lately`;
  return {
    status: seen.length === servers.length && works ? 'ok' : 'degraded',
    detail: works ? detail : `${detail}, and none of them works on runs: new runs wait in the queue`,
    servers: servers.map((server) => describe(server, selfId)),
  };
}

function describe(server: KnownServer, selfId: string): object {
  const { serverId, url, role, version, maxRuns, startedAt, seenAt } = server;
  return {
    server_id: serverId,
    url,
    role,
    version,
    max_concurrent: maxRuns,
    started_at: new Date(startedAt).toISOString(),
    seen_at: new Date(seenAt).toISOString(),
    self: serverId === selfId,
  };
}
