/**
 * Decodes the Content-Encoding of a request body. The received bytes are already limited; the decompressed size has the
 * same limit, and decompression stops there, so a small body cannot become a huge one.
 */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { TalariaError } from '@talaria/protocol';

type Unpack = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const [asGzip, asBrotli, asZlib, asDeflate] = [gunzip, brotliDecompress, inflate, inflateRaw].map(
  (unpack) => promisify(unpack) as Unpack,
) as [Unpack, Unpack, Unpack, Unpack];

/** The low four bits of a zlib header are always 8; some clients send `deflate` without that header. */
const hasZlibHeader = (bytes: Buffer): boolean => (bytes[0]! & 0x0f) === 8;

const ENCODINGS: Record<string, Unpack> = {
  gzip: asGzip,
  'x-gzip': asGzip,
  br: asBrotli,
  deflate: (bytes, options) => (hasZlibHeader(bytes) ? asZlib : asDeflate)(bytes, options),
  identity: async (bytes) => bytes,
};

export async function decodeBody(
  bytes: Buffer,
  contentEncoding: string | undefined,
  maxBytes: number,
): Promise<Buffer> {
  const encoding = contentEncoding?.trim().toLowerCase() || 'identity';
  if (bytes.length === 0) return bytes;
  const unpack = Object.hasOwn(ENCODINGS, encoding) ? ENCODINGS[encoding] : undefined;
  if (unpack === undefined) throw new TalariaError('unsupported_encoding');
  try {
    return await unpack(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    const tooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    if (tooLarge) throw new TalariaError('body_too_large', { cause: error });
    const message = `The request body is not valid ${encoding}, which its Content-Encoding says it is`;
    throw new TalariaError('invalid_encoding', { message, cause: error });
  }
}
