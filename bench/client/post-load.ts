/**
 * A load of POSTs over keep-alive connections; each connection sends its next request when the last one is answered. It
 * uses raw sockets and minimal parsing: the same for the server and its floor, and cheap compared with either.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { percentile } from '../statistics.ts';

export interface PostLoad {
  port: number;
  path: string;
  body: string;
  connections: number;
  /** Ends after this many responses or this much time, whichever comes first. */
  count?: number;
  durationMs?: number;
}

export interface PostFigures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  answers: number;
}

const HEAD_END = '\r\n\r\n';

export async function postLoad(load: PostLoad): Promise<PostFigures> {
  const { port, path, body, connections, count = Infinity, durationMs = Infinity } = load;
  const request = Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const latencies: number[] = [];
  let sent = 0;
  const startedAt = performance.now();
  /** Whether one more request may be sent; counts it. */
  const take = (): boolean => {
    if (sent >= count || performance.now() - startedAt >= durationMs) return false;
    sent += 1;
    return true;
  };
  try {
    await Promise.all(sockets.map((socket) => ask(socket, request, take, latencies)));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    perSecond: latencies.length / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    answers: latencies.length,
  };
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** Sends one request after the other on one connection; resolves when there are none left to send. */
function ask(socket: Socket, request: Buffer, take: () => boolean, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    let sentAt = 0;
    const next = (): void => {
      if (!take()) {
        resolve();
        return;
      }
      text = '';
      sentAt = performance.now();
      socket.write(request);
    };
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      text += part;
      if (!isWhole(text)) return;
      latencies.push(performance.now() - sentAt);
      if (text.startsWith('HTTP/1.1 202')) next();
      else reject(new Error(`Expected 202 under load, got: ${text.slice(0, 500)}`));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('The server closed a connection under load')));
    next();
  });
}

function isWhole(answer: string): boolean {
  const headEnd = answer.indexOf(HEAD_END);
  if (headEnd < 0) return false;
  const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
  return answer.length >= headEnd + HEAD_END.length + length;
}
