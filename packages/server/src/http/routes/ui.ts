/**
 * The web page at `/ui/` (docs/dashboard.md). It needs no key to load: it contains nothing but itself, and uses the
 * same API as every client. It knows its place by the way back to `/ui/` that the server writes into it, since a proxy
 * may serve it under any path.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BuiltFile, BuiltFiles } from '../ui/built-files.ts';
import { NOT_BUILT } from '../ui/not-built.ts';

/** Nothing from elsewhere, no inline script or style, and no HTML made from text. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const BASE = '<base href="./" />';
const OPEN = { config: { open: true } };

export function installUiRoutes(app: FastifyInstance, files: BuiltFiles): void {
  // People type the server's address; programs that ask for it get the answer they always got: 401, or 404 with a key.
  app.get('/', { config: { open: wantsPage } }, async (request, reply) => {
    if (!wantsPage(request)) return reply.callNotFound();
    return reply.redirect('ui/');
  });
  app.get('/ui', OPEN, async (_request, reply) => reply.redirect('ui/'));
  app.get<{ Params: { '*': string } }>('/ui/*', OPEN, async (request, reply) => {
    const path = request.params['*'];
    const file = files.get(path);
    if (file !== undefined && !path.endsWith('.html')) return sendFile(request, reply, file);
    // Every other address is one of the page's own, which it shows itself.
    if (/^(assets\/|.*\.[a-z]+$)/.test(path) && !wantsPage(request)) return reply.callNotFound();
    const page = files.get(path.startsWith('approve/') ? 'approve.html' : 'index.html');
    return sendPage(reply, page, wayBack(request.url));
  });
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true;
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: BuiltFile,
): Promise<FastifyReply> {
  reply.headers({
    etag: file.etag,
    vary: 'Accept-Encoding',
    'cache-control': file.lasting ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  reply.type(file.type);
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(file.bytes);
  return reply.header('content-encoding', 'gzip').send(await file.gzipped());
}

/** To `/ui/`. A slash that is escaped, as in the name of a session, separates nothing for the browser. */
function wayBack(url: string): string {
  const [path = ''] = url.split('?');
  return '../'.repeat(path.slice('/ui/'.length).split('/').length - 1) || './';
}

function sendPage(reply: FastifyReply, page: BuiltFile | undefined, back: string): FastifyReply {
  reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': CONTENT_SECURITY_POLICY,
  });
  if (page === undefined) return reply.code(503).send(NOT_BUILT);
  return reply.send(page.bytes.toString().replace(BASE, `<base href="${back}" />`));
}
