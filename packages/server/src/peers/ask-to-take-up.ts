/** Asks other servers whether they have a reader of a run; a server that has one becomes responsible for the run. */
import { json } from 'node:stream/consumers';
import type { KnownServer } from '../journal/peers.ts';
import { askPeer } from './ask-peer.ts';
import type { PeerSeal } from './peer-seal.ts';

export interface TakenUp {
  taken_up: boolean;
}

/** A server that does not answer has no reader that could still be answered. */
export async function askToTakeUp(
  seal: PeerSeal,
  servers: readonly KnownServer[],
  runId: string,
): Promise<boolean> {
  const path = `/peers/runs/${runId}/watch`;
  const ask = async (server: KnownServer): Promise<boolean> => {
    const answer = await askPeer({ seal, server, method: 'POST', path });
    return ((await json(answer)) as TakenUp).taken_up === true;
  };
  const answers = await Promise.all(servers.map((server) => ask(server).catch(() => false)));
  return answers.includes(true);
}
