/** A server whose answers a test writes. It records the requests it got. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { Talaria, type TalariaOptions } from '../talaria.ts';

export interface Asked {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The client ended the request before the answer was complete. */
  aborted: boolean;
}

export interface TestServer {
  url: string;
  asked: Asked[];
  client: Talaria;
}

/** Ends with the test. The handler gets each request and the number of requests before it. */
export async function serve(
  handler: (response: ServerResponse, asked: Asked, before: number) => void,
  options: TalariaOptions = {},
): Promise<TestServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { method = '', url = '', headers } = request;
    const entry: Asked = { method, url, headers, body, aborted: false };
    response.on('close', () => {
      entry.aborted = !response.writableFinished;
    });
    handler(response, entry, asked.push(entry) - 1);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, client: new Talaria({ baseUrl: url, apiKey: null, ...options }) };
}

export function json(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** An error that asks for a retry at once. */
export function busy(response: ServerResponse, status: number, code: string | null = null): void {
  const error = { message: 'Not now', type: 'server_error', param: null, code };
  json(response, status, { error }, { 'retry-after': '0' });
}

/** Takes the request and breaks the connection without an answer. */
export function hangUp(response: ServerResponse): void {
  response.destroy();
}
