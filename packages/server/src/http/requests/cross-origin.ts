/**
 * Requests from web pages (PROTOCOL.md). A page of another origin gets through only if that origin is
 * allowed; the server's own pages always do. Written here rather than taken from a plugin because a refused
 * origin must be answered with 403 before anything else looks at the request.
 */
import { TalariaError } from '@talaria/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const METHODS = 'GET, POST, PATCH, DELETE, OPTIONS';
const HEADERS =
  'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Hermes-Session-Id, X-Hermes-Session-Key';
const EXPOSED =
  'Content-Disposition, Content-Range, ETag, Idempotency-Replayed, Retry-After, X-Hermes-Session-Id, X-Hermes-Session-Key, X-Request-Id, X-Should-Retry, X-Talaria-Run-Id';
const MAX_AGE_S = 600;

/** Sets the headers an admitted origin gets; throws for another. True when the page is of another origin. */
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
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined)
      return;
    reply.headers({
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': [HEADERS, ...clientHeaders(request)].join(', '),
      'access-control-max-age': String(MAX_AGE_S),
    });
    return reply.code(204).send();
  });
}

/** What OpenAI's libraries say of themselves with every request. Nothing reads it, but without leave they could not ask. */
function clientHeaders(request: FastifyRequest): string[] {
  const asked = request.headers['access-control-request-headers'] ?? '';
  return asked.toLowerCase().match(/\bx-stainless-[a-z-]+/g) ?? [];
}

/**
 * Browsers say themselves whether a page and a request are of one origin, and no page can make them say it. Of a browser
 * that does not, the hosts are compared: a proxy that ends TLS hides the scheme.
 */
function isOwnOrigin({ headers }: FastifyRequest, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const page = URL.parse(origin);
  if (page === null || !/^https?:$/.test(page.protocol)) return false;
  return page.host === URL.parse(`${page.protocol}//${headers.host}`)?.host;
}
