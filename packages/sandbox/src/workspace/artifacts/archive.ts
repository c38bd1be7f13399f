/** A tree as a stream of archive bytes: pulled through generators, so that its reader sets the pace. */
import { addAbortSignal, pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { ARCHIVE_FORMATS, type ArchiveFormat, type ArchiveOptions } from '../../artifacts.ts';
import { requireCount } from '../../check-numbers.ts';
import { SandboxError } from '../../errors.ts';
import type { ArchiveEntry, TreeEntry } from './archive-entry.ts';
import { tooLarge } from './failures.ts';
import { tar } from './tar.ts';
import { zip } from './zip.ts';

/** Headers and small files are collected to this size: each chunk has a fixed cost on its way out. */
const CHUNK_BYTES = 64 * 1024;

/** The entries come with every directory before what is in it, and end when the signal aborts. */
export type OpenTree = (signal: AbortSignal) => AsyncIterable<TreeEntry>;

/** Links are left out. If the entries fail, so does the stream. Throws `invalid_request` for invalid options. */
export function archiveTree(open: OpenTree, options: ArchiveOptions = {}): Readable {
  const { format = 'tar.gz', maxBytes, maxEntries = Number.MAX_SAFE_INTEGER, signal } = options;
  if (!ARCHIVE_FORMATS.includes(format)) {
    throw new SandboxError('invalid_request', `The format must be one of ${ARCHIVE_FORMATS.join(', ')}.`);
  }
  if (maxBytes !== undefined) requireCount('maxBytes', maxBytes);
  requireCount('maxEntries', maxEntries);
  const packed = pack(open, format, maxEntries);
  const stream =
    maxBytes === undefined
      ? packed
      : fromBytes(limited(packed, maxBytes, 'The archive'), () => packed.destroy());
  return signal === undefined ? stream : addAbortSignal(signal, stream);
}

function pack(open: OpenTree, format: ArchiveFormat, maxEntries: number): Readable {
  const stop = new AbortController();
  const entries = archived(open(stop.signal), maxEntries);
  if (format === 'tar.gz' || format === 'tgz') return tarGz(entries, () => stop.abort());
  return fromBytes(gathered(format === 'zip' ? zip(entries) : tar(entries)), () => stop.abort());
}

/** Any entries, links among them. `stop` ends work on them that is under way. */
export function tarGz(entries: AsyncIterable<TreeEntry>, stop: () => void = () => {}): Readable {
  // A failure on either side ends both; the reader of the stream gets it.
  return pipeline(fromBytes(gathered(tar(entries)), stop), createGzip(), () => {});
}

/** The files and directories among them. */
async function* archived(
  entries: AsyncIterable<TreeEntry>,
  maxEntries: number,
): AsyncGenerator<ArchiveEntry, void> {
  let count = 0;
  for await (const entry of entries) {
    if (!isArchived(entry)) continue;
    if (++count > maxEntries) throw tooLarge(`There are more than ${maxEntries} files and directories`);
    yield entry;
  }
}

function isArchived(entry: TreeEntry): entry is ArchiveEntry {
  return entry.type !== 'symlink';
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

/** Fails with `artifact_too_large` before it yields more. */
export async function* limited<Bytes extends Uint8Array>(
  chunks: AsyncIterable<Bytes>,
  maxBytes: number,
  what: string,
): AsyncGenerator<Bytes, void> {
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge(`${what} is over ${maxBytes} bytes`);
    yield chunk;
  }
}
