/**
 * Asks another server, and waits for the head of its answer: for as long as the other says that it is at it (the
 * informational answer 102, which its routes for peers send), and no longer than a few seconds in silence. What comes
 * from an address without the seal of the server that should be there is no answer.
 *
 * A connection is used once: one that was kept might be lost in the very moment in which it is used again, and a second
 * attempt would cost more than a new connection does between machines that are near.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { KnownServer } from '../journal/peers.ts';
import { isSame, PEER_HEADER, type PeerSeal } from './peer-seal.ts';

const CONNECT_MS = 3_000;
/** Several times what a route for peers is silent for. */
const SILENCE_MS = 10_000;

export interface AskPeerOptions {
  seal: PeerSeal;
  server: Pick<KnownServer, 'serverId' | 'url'>;
  method: string;
  /** With its query. */
  path: string;
  headers?: Record<string, string>;
  /** Gives up, also while the answer is read. */
  signal?: AbortSignal;
  connectMs?: number;
  silenceMs?: number;
}

/** Why there is no answer, in words that hold nothing secret. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

export function askPeer(options: AskPeerOptions): Promise<IncomingMessage> {
  const { seal, server, method, path, headers = {}, signal } = options;
  const { connectMs = CONNECT_MS, silenceMs = SILENCE_MS } = options;
  // In the form in which it is sent: some characters a client may send as they are, and a URL escapes them.
  const asked = new URL(path, server.url);
  const sent = asked.pathname + asked.search;
  const { header, answer } = seal.ask({ serverId: server.serverId, method, path: sent });
  const url = new URL(server.url + sent);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method,
    headers: { ...headers, [PEER_HEADER]: header },
    agent: false,
    ...(signal === undefined ? {} : { signal }),
  });
  let timer: NodeJS.Timeout | undefined;
  const giveUpAfter = (ms: number, reason: string): void => {
    clearTimeout(timer);
    timer = setTimeout(() => request.destroy(new NoAnswerError(reason)), ms);
  };
  const heard = (): void => giveUpAfter(silenceMs, `it said nothing for ${silenceMs / 1000} s`);

  giveUpAfter(connectMs, `no connection within ${connectMs / 1000} s`);
  request.once('socket', (socket) => socket.once('connect', heard));
  request.on('information', heard);
  request.once('response', (response) => {
    clearTimeout(timer);
    if (isSame(String(response.headers[PEER_HEADER]), answer)) return resolve(response);
    response.destroy();
    reject(new NoAnswerError('another one answers at its address'));
  });
  request.on('error', (error) => {
    clearTimeout(timer);
    const known = error instanceof NoAnswerError || signal?.aborted;
    reject(known ? error : new NoAnswerError(error.message, { cause: error }));
  });
  request.end();
  return promise;
}
