/**
 * HTTP as bytes on a socket, for requests that no well-behaved client sends. Every request asks for `Connection: close`
 * unless it should break the connection, so the end of the response is the end of the socket.
 */
import { connect, type Socket } from 'node:net';

const LIMIT_MS = 15_000;

export interface RawAnswer {
  status: number;
  /** Lower-case names. */
  headers: Headers;
  body: string;
}

/**
 * Sends all the bytes and reads one response: to its announced length, or until the server closes. Undefined when the
 * server closed without a response.
 */
export async function exchange(
  baseUrl: string,
  ...bytes: (string | Uint8Array)[]
): Promise<RawAnswer | undefined> {
  const text = await new Promise<string>((resolve, reject) => {
    let received = '';
    let sent = false;
    const socket = openSocket(baseUrl);
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`No end of the answer within ${LIMIT_MS} ms; so far: ${received}`));
    }, LIMIT_MS);
    const endIfComplete = () => {
      if (sent && isComplete(received)) socket.destroy();
    };
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      received += chunk;
      endIfComplete();
    });
    // A server may refuse a request that is still being sent: the reset that follows is no failure.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(received);
    });
    for (const part of bytes) socket.write(part);
    socket.write('', () => {
      sent = true;
      endIfComplete();
    });
  });
  return text === '' ? undefined : parseAnswer(text);
}

function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const length = /^content-length: (\d+)\r$/im.exec(text.slice(0, end))?.[1];
  return end >= 0 && length !== undefined && text.length >= end + 4 + Number(length);
}

export function openSocket(baseUrl: string): Socket {
  const { hostname, port } = new URL(baseUrl);
  return connect(Number(port), hostname);
}

/** The bytes of a request's head, with nothing checked or escaped. */
export function head(
  baseUrl: string,
  method: string,
  path: string,
  headers: readonly [string, string][],
): string {
  const all: readonly [string, string][] = [
    ['Host', new URL(baseUrl).host],
    ['Connection', 'close'],
    ...headers,
  ];
  return `${method} ${path} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end < 0 ? undefined : end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const rest = end < 0 ? '' : text.slice(end + 4);
  const body = headers.get('transfer-encoding') === 'chunked' ? unchunk(rest) : rest;
  return { status, headers, body: Buffer.from(body, 'latin1').toString('utf8') };
}

function unchunk(text: string): string {
  let body = '';
  for (let at = 0; at < text.length; ) {
    const line = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, line), 16);
    if (!(size > 0)) break;
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
  return body;
}
