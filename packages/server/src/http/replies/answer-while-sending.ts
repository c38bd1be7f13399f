/**
 * Responds to a client that is still sending its body. The whole response is sent at once, but the connection is closed
 * only when the client is done. Closing it while the client writes would reset the connection, and many clients then
 * report the reset and never read the response. The server's time limit for a whole request ends it in any case.
 */
import { finished } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A client that has sent nothing for this long has read the response, or never will. */
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
