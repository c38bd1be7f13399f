/**
 * Finds a living server with this server's id: its data directory, or this one's, was copied. It is asked at the
 * address it told the others, before this server listens, so that this server does not answer itself. Only a seal made
 * for this id counts, so nothing else at that address is mistaken for it.
 */
import { isSilent, type KnownServer, type Servers } from '../journal/peers.ts';
import { askPeer, NoAnswerError } from './ask-peer.ts';
import type { PeerSeal } from './peer-seal.ts';

/** After a crash in a container whose address is gone with it, the start waits this long. */
const CONNECT_MS = 1_000;

export async function findTwin(
  store: Pick<Servers, 'list'>,
  { serverId, seal }: { serverId: string; seal: PeerSeal },
): Promise<KnownServer | undefined> {
  const { now, servers } = await store.list();
  const server = servers.find((known) => known.serverId === serverId);
  if (server === undefined || isSilent(server, now)) return undefined;
  try {
    const answer = await askPeer({ seal, server, method: 'GET', path: '/peers/self', connectMs: CONNECT_MS });
    answer.destroy();
    return server;
  } catch (error) {
    if (error instanceof NoAnswerError) return undefined;
    throw error;
  }
}
