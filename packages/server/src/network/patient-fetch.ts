/**
 * The `fetch` for model providers and MCP servers: node:http(s), with no limit on silence.
 *
 * Node's own fetch gives up after 300 s without headers or without a body byte, and only undici's own dispatcher can
 * change that limit. A model may think for longer than that before its first token, and a tool may work for longer. The
 * caller decides how long either may take, and aborts. Here only a dead peer ends a request: connecting has a timeout,
 * and TCP keepalive notices that the other side is gone.
 *
 * It is not a general fetch: a string body, redirects left to the caller (an API that redirects a POST is a wrong
 * base URL), no compression. The global agents are used, so `NODE_USE_ENV_PROXY` and `NODE_EXTRA_CA_CERTS` work as everywhere.
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
/** Statuses whose response must not have a body; `Response` throws when it gets one. */
const BODILESS = new Set([204, 205, 304]);

/** Changes the body of a response, piece by piece. */
export interface Rewrite {
  push(piece: Uint8Array): string;
  end(): string;
}

export const patientFetch: typeof globalThis.fetch = (input, init) => send(input, init);

/** The same; what it gets as a stream of events passes through a rewrite of its own. */
export function rewritingFetch(createRewrite: () => Rewrite): typeof globalThis.fetch {
  return (input, init) => send(input, init, createRewrite);
}

async function send(
  input: Parameters<typeof globalThis.fetch>[0],
  init: RequestInit = {},
  createRewrite?: () => Rewrite,
): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const signal = init.signal ?? undefined;
  signal?.throwIfAborted();
  const body = init.body ?? '';
  if (typeof body !== 'string') throw new TypeError('patientFetch sends text bodies only');

  const headers = Object.fromEntries(new Headers(init.headers));
  const begin = url.protocol === 'https:' ? requestHttps : requestHttp;
  // All socket options are passed on.
  const options: RequestOptions & Partial<TcpSocketConnectOpts> = {
    method: init.method ?? 'GET',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    ...(signal && { signal }),
  };
  const request = begin(url, options);
  request.setSocketKeepAlive(true, TCP_KEEPALIVE_MS);
  limitConnecting(request, url);

  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    // Stays for the life of the request: an error after the headers also appears on the response, and must not throw.
    request.on('error', reject);
    // A switch of protocols is neither a response nor an error; an abort would come too late, when the connection is
    // already closed.
    request.once('close', () =>
      reject(Object.assign(new Error('the connection was closed without an answer'), { code: 'ECONNRESET' })),
    );
    request.end(body);
  });
  const status = response.statusCode ?? 500;
  if (BODILESS.has(status)) response.resume();
  const isEvents = response.headers['content-type']?.startsWith('text/event-stream') === true;
  const rewrite = isEvents ? createRewrite?.() : undefined;
  return new Response(BODILESS.has(status) ? null : toBody(response, rewrite), {
    status,
    statusText: response.statusMessage ?? '',
    headers: toHeaders(response),
  });
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

/** Not `Readable.toWeb` behind a `Transform`: every step of every run passes through here. */
function toBody(response: IncomingMessage, rewrite: Rewrite | undefined): ReadableStream<Uint8Array> {
  // A destroyed response still gives what it has received, and its end. A body that is no longer open would throw at both.
  let open = true;
  return new ReadableStream({
    start(body) {
      const give = (bytes: Uint8Array) => {
        if (bytes.length > 0) body.enqueue(bytes);
      };
      response.on('data', (piece: Buffer) => {
        if (!open) return;
        give(rewrite === undefined ? piece : Buffer.from(rewrite.push(piece)));
        if ((body.desiredSize ?? 0) <= 0) response.pause();
      });
      response.once('end', () => {
        if (!open) return;
        if (rewrite !== undefined) give(Buffer.from(rewrite.end()));
        body.close();
      });
      // A response that breaks off is an error too.
      response.on('error', (error) => {
        open = false;
        body.error(error);
      });
    },
    pull() {
      response.resume();
    },
    cancel() {
      open = false;
      response.destroy();
    },
  });
}

function toHeaders(response: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}
