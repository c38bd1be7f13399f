/** A proxy that ends TLS, serves under a path of its own, and may send requests to several servers. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ProxyOptions {
  tls?: boolean;
  /** Such as `/agents`; removed before a request is passed on. */
  prefix?: string;
  /** The server for a path, as its origin. */
  target(path: string): string;
}

export interface Proxy extends AsyncDisposable {
  url: string;
  /** Breaks every connection off. */
  cutAll(): void;
}

export async function startProxy({ tls = false, prefix = '', target }: ProxyOptions): Promise<Proxy> {
  const pass = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url?.startsWith(prefix) ? request.url.slice(prefix.length) : undefined;
    if (path === undefined || !path.startsWith('/')) return void response.writeHead(404).end();
    const { hostname, port } = new URL(target(path));
    const { method, headers } = request;
    const passed = send({ hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  };
  const server = tls ? createTlsServer(selfSigned(), pass) : createServer(pass);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    cutAll: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function selfSigned(): { key: Buffer; cert: Buffer } {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-tls-'));
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const words =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=127.0.0.1';
  try {
    execFileSync('openssl', [...words.split(' '), '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
