/**
 * The example server over Streamable HTTP, in one of three ways: `session` keeps a session per client and answers in
 * streams, `stateless` answers the older protocol without sessions and the newer one, `modern` the newer alone.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { createExampleServer } from './example-server.ts';

export type HttpKind = 'session' | 'stateless' | 'modern';

export interface HttpMcpServer extends AsyncDisposable {
  url: string;
  /** The headers of all requests so far. */
  requests: IncomingMessage['headers'][];
  /** Forgets all sessions, as a restart does. */
  forgetSessions(): void;
}

type Handle = (request: Request) => Promise<Response>;

export async function startHttpMcpServer(kind: HttpKind, port = 0): Promise<HttpMcpServer> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const handle = kind === 'session' ? inSessions(sessions) : withoutSessions(kind);
  const requests: IncomingMessage['headers'][] = [];
  const server = await listen(async (request, response) => {
    requests.push(request.headers);
    try {
      await answer(await handle(await toRequest(request, response)), response);
    } catch {
      response.destroy();
    }
  }, port);
  return {
    ...server,
    requests,
    forgetSessions: () => sessions.clear(),
  };
}

/** A plain HTTP server, for responses that are not MCP. */
export async function listen(
  listener: RequestListener,
  port = 0,
): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(listener);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function inSessions(sessions: Map<string, WebStandardStreamableHTTPServerTransport>): Handle {
  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    if (id !== null) {
      const known = sessions.get(id);
      return known === undefined
        ? new Response('no such session', { status: 404 })
        : known.handleRequest(request);
    }
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (created) => void sessions.set(created, transport),
      onsessionclosed: (closed) => void sessions.delete(closed),
    });
    await createExampleServer().connect(transport);
    return transport.handleRequest(request);
  };
}

function withoutSessions(kind: HttpKind): Handle {
  const handler = createMcpHandler(createExampleServer, {
    legacy: kind === 'modern' ? 'reject' : 'stateless',
  });
  return (request) => handler.fetch(request);
}

async function toRequest(message: IncomingMessage, response: ServerResponse): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) headers.set(name, String(value));
  // A client that closes its connection no longer wants the answer.
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return new Request(`http://${message.headers.host}${message.url}`, {
    method: message.method ?? 'GET',
    headers,
    signal: gone.signal,
    ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
  });
}

async function answer(from: Response, to: ServerResponse): Promise<void> {
  to.writeHead(from.status, Object.fromEntries(from.headers));
  to.flushHeaders();
  if (from.body === null) to.end();
  else await pipeline(from.body, to);
}

// Run as a program, for tests that kill it: prints its address.
if (import.meta.main) {
  const { url } = await startHttpMcpServer(
    (process.argv[2] ?? 'session') as HttpKind,
    Number(process.argv[3] ?? 0),
  );
  process.stdout.write(`${url}\n`);
}
