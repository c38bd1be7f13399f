/** A tree as a stream of archive bytes: pulled through generators, so that its reader sets the pace. */
import { addAbortSignal, pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { ArchiveFormat, ArchiveOptions } from '../../artifacts.ts';
import { type ArchiveSource, archiveEntries, tooLarge } from './archive-entries.ts';
import { tar } from './tar.ts';
import { zip } from './zip.ts';

/** Headers and small files are collected to this size: each chunk has a fixed cost on its way out. */
const CHUNK_BYTES = 64 * 1024;

export function openArchive(
  source: ArchiveSource,
  { format = 'tar.gz', maxBytes, maxEntries = Number.POSITIVE_INFINITY, signal }: ArchiveOptions,
): Readable {
  const packed = pack(source, format, maxEntries);
  const stream =
    maxBytes === undefined ? packed : fromBytes(limited(packed, maxBytes), () => packed.destroy());
  return signal === undefined ? stream : addAbortSignal(signal, stream);
}

function pack(source: ArchiveSource, format: ArchiveFormat, maxEntries: number): Readable {
  const stop = new AbortController();
  const entries = archiveEntries(source, maxEntries, stop.signal);
  const bytes = fromBytes(gathered(format === 'zip' ? zip(entries) : tar(entries)), () => stop.abort());
  // A failure on either side ends both; the reader of the stream gets it.
  return format === 'tar.gz' ? pipeline(bytes, createGzip(), () => {}) : bytes;
}

/**
 * Like Readable.from, but destroying it also stops the generator's work: of a file that compresses well a lot is read
 * before the next chunk comes out.
 */
export function fromBytes(bytes: AsyncGenerator<Buffer, void>, stop: () => void): Readable {
  return new Readable({
    highWaterMark: 2 * CHUNK_BYTES,
    async read() {
      try {
        const { done, value } = await bytes.next();
        this.push(done ? null : value);
      } catch (error) {
        this.destroy(error as Error);
      }
    },
    async destroy(error, done) {
      stop();
      await bytes.return().catch(() => {});
      done(error);
    },
  });
}

export async function* gathered(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let small: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    small.push(chunk);
    size += chunk.length;
    if (size < CHUNK_BYTES) continue;
    yield small.length === 1 ? chunk : Buffer.concat(small);
    small = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(small);
}

async function* limited(stream: Readable, maxBytes: number): AsyncGenerator<Buffer, void> {
  let total = 0;
  for await (const chunk of stream) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge(`The archive is over ${maxBytes} bytes`);
    yield chunk;
  }
}
