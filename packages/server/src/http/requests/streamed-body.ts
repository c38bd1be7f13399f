/**
 * The body of a request as a stream, for routes with `streamsBody`: such a body may be larger than memory, so it is
 * neither collected nor charged to the budget of bodies. A body with a Content-Encoding is decoded on the way.
 *
 * Leaving the loop early does not close the connection: the client may still be sending, and has to read the error.
 */
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { TalariaError } from '@talaria/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { allowLongRequest } from './long-requests.ts';

/** No client sends it: it replaces the content type of a request whose route streams its body. */
export const STREAMED = 'application/x-streamed';

const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  br: createBrotliDecompress,
  deflate: createInflate,
};

export function installStreamedBodies(app: FastifyInstance): void {
  app.addContentTypeParser(STREAMED, async () => undefined);
  app.addHook('preParsing', async (request, reply) => {
    if (request.routeOptions.config.streamsBody === true) allowLongRequest(request, reply);
  });
}

/** As the client sent it. */
export function sentContentType({ raw }: FastifyRequest): string | undefined {
  const at = raw.rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-type');
  return at < 0 ? undefined : raw.rawHeaders[at + 1];
}

/** The decoded bytes, and an error that the client is to blame for if they are not what they should be. */
export async function* streamedBody({ raw, headers }: FastifyRequest): AsyncGenerator<Uint8Array, void> {
  const encoding = headers['content-encoding']?.trim().toLowerCase() || 'identity';
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined;
  if (decoder === undefined && encoding !== 'identity') throw new TalariaError('unsupported_encoding');
  const source = raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  if (decoder === undefined) return yield* interrupted(source);
  const decoded = decoder();
  // The reader gets the failure.
  const decoding = pipeline(interrupted(source) as unknown as Readable, decoded, () => {});
  try {
    yield* decoding as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (error instanceof TalariaError) throw error;
    const message = `The request body is not valid ${encoding}, which its Content-Encoding says it is`;
    throw new TalariaError('invalid_encoding', { message, cause: error });
  }
}

/** A client that leaves in the middle is no failure of the server. */
async function* interrupted(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield* source;
  } catch (cause) {
    throw new TalariaError('invalid_request', { message: 'The request body was cut off', cause });
  }
}
