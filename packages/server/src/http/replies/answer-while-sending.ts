/**
 * Answers a client that is still sending its body. The whole answer goes out at once, but the connection is
 * closed only when the client is done: closing under a client that writes resets the connection, and many
 * clients then report the reset and never read the answer. The server's limit for a whole request ends it in
 * any case.
 */
import { finished } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A client that has sent nothing for this long has read the answer, or never will. */
const SILENT_MS = 5_000;

export function answerWhileSending(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  json: unknown,
): void {
  const body = JSON.stringify(json);
  const response = reply.hijack().raw;
  response.writeHead(status, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  response.write(body);
  const timer = setTimeout(() => response.end(), SILENT_MS);
  request.raw.on('data', () => timer.refresh());
  finished(request.raw, () => {
    clearTimeout(timer);
    response.end();
  });
}
