/**
 * Blobs as files of a directory, for a store of one process.
 *
 *   ab/abcd….part ── bytes, fsync ── rename ──▶ ab/abcd… ── fsync of ab ──▶ durable
 *
 * A killed process leaves a `.part`, which no reader opens. Files are spread over 256 directories by the beginning of their
 * names, so that listing never reads all names at once.
 */
import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { TalariaError } from '@talaria/protocol';
import { failpoint } from '../basics/failpoints.ts';
import { makeDirectory } from '../files/make-directory.ts';
import { createBlobId, isBlobId } from './blob-ids.ts';
import {
  BlobGoneError,
  type BlobRange,
  type BlobStore,
  type BlobWrite,
  type ListedBlob,
  type WrittenBlob,
} from './blob-store.ts';
import { MeasuredBytes } from './measured-bytes.ts';

const PRIVATE_FILE = 0o600;
const PART = '.part';
const READ_BYTES = 256 * 1024;
/** Pieces from a network are small, and each write costs a thread. */
const WRITE_BYTES = 512 * 1024;
const SHARDS = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, '0'));
/** How many files are looked at or removed at the same time. */
const AT_ONCE = 32;

export interface DirectoryBlobsOptions {
  path: string;
  /** In ms. */
  now?: () => number;
}

/**
 * The directory for the blobs of a SQLite store. Two databases may be in one directory, and each of them would take the blobs of
 * the other for unneeded.
 */
export function blobsBeside(databasePath: string): string {
  return `${databasePath}.blobs`;
}

export class DirectoryBlobs implements BlobStore {
  readonly #path: string;
  readonly #now: () => number;
  #ready: Promise<void> | undefined;

  /** Creates nothing before the first blob is written. */
  constructor({ path, now = Date.now }: DirectoryBlobsOptions) {
    this.#path = path;
    this.#now = now;
  }

  async write(bytes: AsyncIterable<Uint8Array>, options: BlobWrite = {}): Promise<WrittenBlob> {
    return this.put(createBlobId(), bytes, options);
  }

  /** For a blob of another store that keeps its id; replaces what is there. */
  async put(blobId: string, bytes: AsyncIterable<Uint8Array>, options: BlobWrite = {}): Promise<WrittenBlob> {
    options.signal?.throwIfAborted();
    this.#ready ??= accepted(this.#prepare()).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    await this.#ready;
    const [path, measured] = [this.#pathOf(blobId), new MeasuredBytes(bytes, options)];
    try {
      const writtenAt = await this.#fill(`${path}${PART}`, measured);
      failpoint('blob.before-whole');
      await accepted(rename(`${path}${PART}`, path));
      await accepted(syncDirectory(this.#shardOf(blobId)));
      failpoint('blob.after-whole');
      return { blobId, size: measured.size, sha256: measured.sha256(), writtenAt };
    } catch (error) {
      await this.remove([blobId]).catch(() => {});
      throw error;
    }
  }

  /** Whether it is there as a whole. */
  async has(blobId: string): Promise<boolean> {
    return isBlobId(blobId) && (await modifiedAt(this.#pathOf(blobId))) !== undefined;
  }

  async *read(blobId: string, range?: BlobRange): AsyncGenerator<Uint8Array, void> {
    await using file = await openBlob(this.#pathOf(blobId), blobId);
    const { size } = await file.stat();
    const { start, end } = range ?? { start: 0, end: size };
    if (end > size) throw new RangeError(`The range ends at ${end}, and the contents ${blobId} at ${size}`);
    for (let at = start; at < end; ) {
      const length = Math.min(READ_BYTES, end - at);
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
      if (bytesRead === 0) throw new BlobGoneError(blobId);
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async remove(blobIds: readonly string[]): Promise<void> {
    const paths = blobIds.filter(isBlobId).flatMap((blobId) => {
      const path = this.#pathOf(blobId);
      return [path, `${path}${PART}`];
    });
    for (let at = 0; at < paths.length; at += AT_ONCE) {
      await Promise.all(paths.slice(at, at + AT_ONCE).map((path) => unlink(path).catch(ignoreMissing)));
    }
  }

  async list(after: string | undefined, limit: number): Promise<ListedBlob[]> {
    const found: ListedBlob[] = [];
    const first = after === undefined ? 0 : SHARDS.indexOf(after.slice(0, 2));
    for (const shard of SHARDS.slice(first)) {
      if (found.length >= limit) break;
      const names = (await readdir(join(this.#path, shard)).catch(ignoreMissing)) ?? [];
      const ids = new Set(names.map((name) => (name.endsWith(PART) ? name.slice(0, -PART.length) : name)));
      const next = [...ids].filter((id) => isBlobId(id) && (after === undefined || id > after)).sort();
      for (const blobId of next) {
        if (found.length >= limit) break;
        const path = this.#pathOf(blobId);
        const writtenAt = (await modifiedAt(path)) ?? (await modifiedAt(`${path}${PART}`));
        // Removed meanwhile.
        if (writtenAt !== undefined) found.push({ blobId, writtenAt });
      }
    }
    return found;
  }

  /** Returns the time that the file shows from then on. */
  async #fill(part: string, measured: MeasuredBytes): Promise<number> {
    await using file = await accepted(open(part, 'w', PRIVATE_FILE));
    // While some pieces are on their way to the file, the next ones are read and hashed.
    let [pieces, size, at]: [Uint8Array[], number, number] = [[], 0, 0];
    let writing: Promise<void> = Promise.resolve();
    try {
      for await (const piece of measured) {
        pieces.push(piece);
        size += piece.length;
        if (size < WRITE_BYTES) continue;
        await writing;
        writing = accepted(writeAll(file, pieces, at));
        writing.catch(() => {});
        [pieces, size, at] = [[], 0, at + size];
      }
    } finally {
      await Promise.allSettled([writing]);
    }
    await writing;
    await accepted(writeAll(file, pieces, at));
    // It may end in a hole.
    await accepted(file.truncate(measured.size));
    const writtenAt = this.#now();
    await accepted(file.utimes(writtenAt / 1000, writtenAt / 1000));
    await accepted(file.sync());
    return writtenAt;
  }

  async #prepare(): Promise<void> {
    makeDirectory(this.#path);
    // Takes a few milliseconds, once; on other threads it would take many times as long.
    for (const shard of SHARDS) makeDirectory(join(this.#path, shard));
    await syncDirectory(this.#path);
    await syncDirectory(join(this.#path, '..'));
  }

  #shardOf(blobId: string): string {
    return join(this.#path, blobId.slice(0, 2));
  }

  /** An id from elsewhere must not become a path to elsewhere. */
  #pathOf(blobId: string): string {
    if (!isBlobId(blobId)) throw new BlobGoneError(blobId);
    return join(this.#shardOf(blobId), blobId);
  }
}

async function openBlob(path: string, blobId: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new BlobGoneError(blobId, error);
  }
}

/** Leaves a hole where there are only zeros: a sparse file takes no room in the workspace, and takes none here. */
async function writeAll(file: FileHandle, pieces: readonly Uint8Array[], at: number): Promise<void> {
  if (pieces.every(isZero)) return;
  const { bytesWritten } = await file.writev(pieces, at);
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytesWritten === size) return;
  const bytes = Buffer.concat(pieces);
  // Usually the disk is full, and this says so.
  for (let done = bytesWritten; done < size; )
    done += (await file.write(bytes, done, size - done, at + done)).bytesWritten;
}

/** Compares the piece with itself, one byte further on. */
function isZero(piece: Uint8Array): boolean {
  const { buffer, byteOffset, length } = piece;
  if (length === 0) return true;
  const bytes = Buffer.from(buffer, byteOffset, length);
  return bytes[0] === 0 && bytes.compare(bytes, 1, length, 0, length - 1) === 0;
}

async function modifiedAt(path: string): Promise<number | undefined> {
  const stats = await stat(path).catch(ignoreMissing);
  return stats && Math.round(stats.mtimeMs);
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r');
  await directory.sync();
}

/** A full or broken disk, in the words of a store. */
async function accepted<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    throw new TalariaError('store_unavailable', { cause: error });
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
