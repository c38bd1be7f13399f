/**
 * Sends a request to another server, and waits for the head of its response: for as long as the other says that it is
 * busy (the informational response 102, which its routes for peers send), but no longer than a few seconds in silence.
 * A response without the seal of the expected server does not count.
 *
 * A connection is used once: a kept one might be lost at the moment in which it is used again, and a second attempt
 * would cost more than a new connection between nearby machines.
 */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';
import type { KnownServer } from '../journal/peers.ts';
import { isSame, PEER_HEADER, type PeerSeal } from './peer-seal.ts';

const CONNECT_MS = 3_000;
/** Several times the longest silence of a route for peers. */
const SILENCE_MS = 10_000;

export interface AskPeerOptions {
  seal: PeerSeal;
  server: Pick<KnownServer, 'serverId' | 'url'>;
  method: string;
  /** The path with its query. */
  path: string;
  headers?: Record<string, string>;
  /** Sent while the other side takes it. */
  body?: Readable;
  /** Gives up, also while the response is read. */
  signal?: AbortSignal;
  connectMs?: number;
  silenceMs?: number;
}

/** Why there is no answer, without any secret. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

export function askPeer(options: AskPeerOptions): Promise<IncomingMessage> {
  const { seal, server, method, path, headers = {}, body, signal } = options;
  const { connectMs = CONNECT_MS, silenceMs = SILENCE_MS } = options;
  // As it is sent: a client may send some characters unescaped, and a URL escapes them.
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
  if (body === undefined) request.end();
  else sendBody(body, request);
  return promise;
}

/** Not a pipeline: the response may come before the body is sent, and must be read then. */
function sendBody(body: Readable, request: ClientRequest): void {
  body.pipe(request);
  body.once('error', (error) => request.destroy(error));
  // A client that leaves in the middle: without its end, the other side does not take the body for complete.
  body.once('close', () => {
    if (!body.readableEnded) request.destroy(new NoAnswerError('the client left'));
  });
}
