/**
 * Requests to model providers and MCP servers: node:http(s), with no limit on silence.
 *
 * Node's own fetch gives up after 300 s without headers or without a body byte, and only undici's own dispatcher can
 * change that limit. A model may think for longer than that before its first token, and a tool may work for longer. The
 * caller decides how long either may take, and aborts. Here only a dead peer ends a request: connecting has a timeout,
 * and TCP keepalive notices that the other side is gone.
 *
 * The global agents are used, so `NODE_USE_ENV_PROXY` and `NODE_EXTRA_CA_CERTS` work as everywhere.
 */
import {
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import type { TcpSocketConnectOpts } from 'node:net';

const CONNECT_TIMEOUT_MS = 30_000;
/**
 * For each address except the last, if a name has several. Node gives it a quarter of a second: too little for a
 * provider on the other side of the world that has an IPv6 address, on a machine without IPv6.
 */
const ADDRESS_TIMEOUT_MS = 4_000;
const TCP_KEEPALIVE_MS = 30_000;

export interface PatientRequest {
  method: string;
  headers: Record<string, string>;
  body: string;
  signal?: AbortSignal | undefined;
}

/**
 * Resolves with the response when its head is there. Redirects are left to the caller. An abort ends the connection. The
 * reader of the response then gets an error, or an end before it was complete, and has to check the signal.
 */
export function requestPatiently(
  url: URL,
  { method, headers, body, signal }: PatientRequest,
): Promise<IncomingMessage> {
  const begin = url.protocol === 'https:' ? requestHttps : requestHttp;
  // All socket options are passed on.
  const options: RequestOptions & Partial<TcpSocketConnectOpts> = {
    method,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
  };
  const request = begin(url, options);
  request.setSocketKeepAlive(true, TCP_KEEPALIVE_MS);
  limitConnecting(request, url);
  if (signal !== undefined) endOnAbort(request, signal);
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    // Stays for the life of the request: an error after the headers also appears on the response, and must not throw.
    request.on('error', (error) => reject(signal?.aborted ? signal.reason : error));
    // A switch of protocols is neither a response nor an error; an abort would come too late, when the connection is
    // already closed.
    request.once('close', () =>
      reject(Object.assign(new Error('the connection was closed without an answer'), { code: 'ECONNRESET' })),
    );
    request.end(body);
  });
}

/**
 * Not the `signal` of Node's request: it destroys the socket with an error. If the whole response has arrived but was not
 * read yet, Node gives the socket back at that moment, so nobody listens to the error, and it ends the process.
 */
function endOnAbort(request: ClientRequest, signal: AbortSignal): void {
  const end = () => request.destroy();
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  request.once('close', () => signal.removeEventListener('abort', end));
}

function limitConnecting(request: ClientRequest, url: URL): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => {
      const error = new Error(`connect timed out after ${CONNECT_TIMEOUT_MS} ms: ${url.host}`);
      request.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
    }, CONNECT_TIMEOUT_MS);
    const clear = () => clearTimeout(timer);
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', clear);
    socket.once('close', clear);
  });
}
