/**
 * Requests from web pages (PROTOCOL.md). A page of another origin gets through only if that origin is
 * allowed; the server's own pages always do. This is our own code rather than a plugin because a refused origin must
 * get 403 before anything else looks at the request.
 */
import { TalariaError } from '@talaria/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The methods that every preflight response allows, the same as upstream. PUT is added for those that ask for it. */
const METHODS = 'GET, POST, PATCH, DELETE, OPTIONS';
const HEADERS =
  'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Hermes-Session-Id, X-Hermes-Session-Key';
const EXPOSED =
  'Content-Disposition, Content-Range, ETag, Idempotency-Replayed, Retry-After, X-Hermes-Session-Id, X-Hermes-Session-Key, X-Request-Id, X-Should-Retry, X-Talaria-As-Of-Seq, X-Talaria-From-Seq, X-Talaria-Left-Out, X-Talaria-Run-Id, X-Talaria-To-Seq';
const MAX_AGE_S = 600;

/** Sets the headers for an allowed origin; throws for another. True when the page is from another origin. */
export type AdmitOrigin = (request: FastifyRequest, reply: FastifyReply) => boolean;

export function createAdmitOrigin(origins: '*' | readonly string[]): AdmitOrigin {
  const enabled = origins === '*' || origins.length > 0;
  return (request, reply) => {
    if (enabled) reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || isOwnOrigin(request, origin)) return false;
    if (origins !== '*' && !origins.includes(origin)) throw new TalariaError('origin_not_allowed');
    reply.header('access-control-allow-origin', origins === '*' ? '*' : origin);
    reply.header('access-control-expose-headers', EXPOSED);
    return true;
  };
}

export function installCrossOrigin(app: FastifyInstance, admitOrigin: AdmitOrigin): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!admitOrigin(request, reply)) return;
    const asked = request.headers['access-control-request-method'];
    if (request.method !== 'OPTIONS' || asked === undefined) return;
    reply.headers({
      'access-control-allow-methods': asked === 'PUT' ? `${METHODS}, PUT` : METHODS,
      'access-control-allow-headers': [HEADERS, ...askedHeaders(request)].join(', '),
      'access-control-max-age': String(MAX_AGE_S),
    });
    return reply.code(204).send();
  });
}

/**
 * Allowed where a page asks for them: the conditions of a write, the key as Azure's clients send it, and the headers that
 * OpenAI's libraries send with every request. Nothing reads the latter, but the browser must be allowed to send them.
 */
function askedHeaders(request: FastifyRequest): string[] {
  const asked = request.headers['access-control-request-headers'] ?? '';
  return asked.toLowerCase().match(/\b(?:x-stainless-[a-z-]+|if-match|if-none-match|api-key)/g) ?? [];
}

/**
 * Browsers report whether page and request have the same origin, and no page can forge that. For a browser that does
 * not, the hosts are compared: a proxy that ends TLS hides the scheme.
 */
function isOwnOrigin({ headers }: FastifyRequest, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const page = URL.parse(origin);
  if (page === null || !/^https?:$/.test(page.protocol)) return false;
  return page.host === URL.parse(`${page.protocol}//${headers.host}`)?.host;
}
