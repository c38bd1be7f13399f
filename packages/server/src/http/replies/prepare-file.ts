/**
 * The head of a response with a file, and which of its bytes to send: the whole file, a range, or nothing.
 *
 * A browser must never show a file that somebody wrote as a page of this server. So every file is an attachment without a
 * specific type, in addition to the headers of every response (nosniff, a policy that allows nothing).
 */
import { TalariaError } from '@talaria/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ByteRange, matchesTag, mayServeRange, parseRange } from '../requests/byte-range.ts';
import { header } from '../requests/header.ts';
import { attachment } from './content-disposition.ts';

export interface SentFile {
  name: string;
  size: number;
  sha256: string;
  /** In seconds. */
  modifiedAt: number;
}

/** Undefined if the response has no body. */
export function prepareFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, size, sha256, modifiedAt }: SentFile,
): ByteRange | undefined {
  const tag = `"${sha256}"`;
  reply.headers({ etag: tag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' });
  if (matchesTag(request.headers['if-none-match'], tag)) {
    reply.code(304);
    return undefined;
  }
  const isGet = request.method === 'GET';
  const asked = isGet && mayServeRange(header(request, 'if-range'), tag) ? request.headers.range : undefined;
  const range = parseRange(asked, size);
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`);
    const message = `The file has ${size} bytes, and none in the range '${asked}'`;
    throw new TalariaError('range_not_satisfiable', { message });
  }
  const { start, end } = range === 'whole' ? { start: 0, end: size } : range;
  reply.headers({
    'content-type': 'application/octet-stream',
    'content-disposition': attachment(name),
    'content-length': end - start,
    'last-modified': new Date(modifiedAt * 1000).toUTCString(),
  });
  if (range !== 'whole') reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${size}`);
  return isGet ? { start, end } : undefined;
}
