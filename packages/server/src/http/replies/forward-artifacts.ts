/**
 * Fetches an artifact from the server that has the files of the run, or has it written there. Access was checked before. The other server checks
 * the path, the range and the version, and its response is passed on unchanged, including errors. Bytes flow as fast as
 * the client reads them, and a break there causes a break here. If the server is gone or does not answer, the error
 * names it.
 */
import type { IncomingMessage } from 'node:http';
import { TalariaError } from '@talaria/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Place } from '../../journal/peers.ts';
import { askPeer, NoAnswerError } from '../../peers/ask-peer.ts';
import type { PeerSeal } from '../../peers/peer-seal.ts';
import { header } from '../requests/header.ts';
import { leaving } from '../requests/leaving.ts';

/** The route prefix of clients, and the prefix that peers use on their behalf. */
const CLIENT_PREFIX = '/v1/';
export const PEER_PREFIX = '/peers/';

const PASSED_ON = ['range', 'if-range', 'if-match', 'if-none-match', 'content-length', 'content-encoding'];
const PASSED_BACK = [
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
  'retry-after',
];
/** How long a response may stall while the client would read more. */
const IDLE_MS = 30_000;

export type ForwardArtifacts = (
  request: FastifyRequest,
  reply: FastifyReply,
  place: Place,
) => Promise<FastifyReply>;

export function createForwardArtifacts(seal: PeerSeal, idleMs = IDLE_MS): ForwardArtifacts {
  return async (request, reply, place) => {
    const answer = await ask(seal, request, leaving(reply), place);
    reply.code(answer.statusCode ?? 500);
    for (const name of PASSED_BACK) {
      const value = answer.headers[name];
      if (value !== undefined) reply.header(name, value);
    }
    if (request.method === 'HEAD') {
      answer.resume();
      return reply.send();
    }
    endWhenIdle(answer, reply, idleMs);
    return reply.send(answer);
  };
}

async function ask(
  seal: PeerSeal,
  request: FastifyRequest,
  signal: AbortSignal,
  { serverId, server }: Place,
): Promise<IncomingMessage> {
  if (server === undefined) throw unavailable(serverId, 'which is not known any more');
  const name = `${serverId} at ${server.url}`;
  if (server.stoppedAt !== null) throw unavailable(name, `which was stopped at ${iso(server.stoppedAt)}`);
  try {
    return await askPeer({
      seal,
      server,
      method: request.method,
      path: peerPath(request),
      headers: Object.fromEntries(
        PASSED_ON.flatMap((passed) => {
          const value = header(request, passed);
          return value === undefined ? [] : [[passed, value]];
        }),
      ),
      ...(request.routeOptions.config.streamsBody === true ? { body: request.raw } : {}),
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof NoAnswerError)) throw error;
    throw unavailable(
      name,
      `which was last seen at ${iso(server.seenAt)} and does not answer: ${error.message}`,
    );
  }
}

/** Built from the route: a client can write the same path in many ways. */
function peerPath({ routeOptions, params, url }: FastifyRequest): string {
  const route = PEER_PREFIX + routeOptions.url!.slice(CLIENT_PREFIX.length);
  const path = route.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent((params as Record<string, string>)[name]!),
  );
  return path + (/\?.*$/s.exec(url)?.[0] ?? '');
}

function unavailable(name: string, why: string): TalariaError {
  return new TalariaError('workspace_unavailable', {
    message: `The files of this run are on the server ${name}, ${why}`,
  });
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Ends the response when it is found at the same place twice, unless it is the client that reads nothing. */
function endWhenIdle(answer: IncomingMessage, reply: FastifyReply, idleMs: number): void {
  const { socket } = answer;
  let place: number | undefined;
  socket.setTimeout(idleMs / 2);
  socket.on('timeout', () => {
    const now = reply.raw.writableNeedDrain ? undefined : socket.bytesRead;
    if (now !== undefined && now === place) {
      answer.destroy(new NoAnswerError(`nothing came for ${idleMs / 1000} s`));
    }
    place = now;
    socket.setTimeout(idleMs / 2);
  });
}
