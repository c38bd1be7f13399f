/** An HTTP server in the place of an API server, for answers that a real one gives only in bad moments. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ClusterAccess } from '../access/cluster-access.ts';

export interface ApiStandIn extends AsyncDisposable {
  readonly access: ClusterAccess;
  /** `GET /api/…`, with `?watch` for a watch. */
  readonly asked: string[];
  /** Whether each call wanted new credentials. */
  readonly renewals: boolean[];
}

export type Answering = (request: IncomingMessage, response: ServerResponse, attempt: number) => void;

/** With `secure`, over TLS. */
export async function standIn(answer: Answering, secure?: ServerOptions): Promise<ApiStandIn> {
  const asked: string[] = [];
  const renewals: boolean[] = [];
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://api');
    asked.push(`${request.method} ${pathname}${searchParams.has('watch') ? '?watch' : ''}`);
    answer(request, response, asked.length - 1);
  };
  const server = secure ? createSecureServer(secure, respond) : createServer(respond);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ asked, renewals },
    access: {
      server: `${secure ? 'https' : 'http'}://127.0.0.1:${port}`,
      namespace: 'sandboxes',
      source: 'the test',
      credentials: async ({ renewed = false } = {}) => {
        renewals.push(renewed);
        return { token: 'secret', tls: {} };
      },
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function say(response: ServerResponse, status: number, body: object, headers = {}): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(`${JSON.stringify(body)}\n`);
}
