/**
 * A tree as a stream of archive bytes. Everything is opened inside the generators, so that the end of the stream,
 * good or bad, closes it: a descriptor closed from outside while a path still goes through it could by then belong
 * to another workspace.
 */
import { type FileHandle, stat } from 'node:fs/promises';
import { addAbortSignal, pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { ArchiveFormat, ArchiveOptions } from '../../artifacts.ts';
import { SandboxError } from '../../errors.ts';
import { type Name, openDirectory, openReference, openReferenced } from '../files/workspace-path.ts';
import type { ArchiveEntry } from './archive-entry.ts';
import { exactBytes } from './exact-bytes.ts';
import { changed, isPassing, toSandboxError } from './failures.ts';
import { tar } from './tar.ts';
import { MAX_DEPTH, Walk, type WalkedDirectory } from './walk.ts';
import { zip } from './zip.ts';

/** Headers and small files are gathered to this size: each chunk costs the same on its way out. */
const CHUNK_BYTES = 64 * 1024;

export interface ArchiveSource {
  /** The workspace on the host. */
  dir: string;
  components: readonly string[];
  /** A file at that path and not a directory. */
  isFile: boolean;
}

export function openArchive(
  source: ArchiveSource,
  { format = 'tar.gz', maxBytes, maxEntries = Number.POSITIVE_INFINITY, signal }: ArchiveOptions,
): Readable {
  const packed = pack(source, format, maxEntries);
  const stream = maxBytes === undefined ? packed : fromBytes(limited(packed, maxBytes));
  return signal === undefined ? stream : addAbortSignal(signal, stream);
}

function pack(source: ArchiveSource, format: ArchiveFormat, maxEntries: number): Readable {
  const stop = new AbortController();
  const entries = entriesOf(source, maxEntries, stop.signal);
  const bytes = fromBytes(gathered(format === 'zip' ? zip(entries) : tar(entries)), stop);
  // What goes wrong on either side ends both; the reader of the stream hears of it.
  return format === 'tar.gz' ? pipeline(bytes, createGzip(), () => {}) : bytes;
}

/**
 * Like Readable.from, but destroying it also stops what the generator is doing: of a file that compresses well a
 * great deal is read before the next chunk comes out.
 */
function fromBytes(bytes: AsyncGenerator<Buffer, void>, stop = new AbortController()): Readable {
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
      stop.abort();
      await bytes.return().catch(() => {});
      done(error);
    },
  });
}

async function* entriesOf(
  { dir, components, isFile }: ArchiveSource,
  maxEntries: number,
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry, void> {
  try {
    await using workspace = await openDirectory(dir, []);
    // The directory that is open now, whatever its name leads to later. The dot makes it no link.
    const root = `/proc/self/fd/${workspace.fd}/.`;
    let count = 0;
    for await (const entry of isFile ? oneFile(root, components, signal) : tree(root, components, signal)) {
      if (++count > maxEntries) throw tooLarge(`There are more than ${maxEntries} files and directories`);
      yield entry;
    }
    if (!(await isStillAt(dir, workspace))) throw changed('The workspace');
  } catch (error) {
    throw toSandboxError(error);
  }
}

async function* oneFile(
  root: string,
  components: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry, void> {
  const parents = components.slice(0, -1);
  await using handle = await openDirectory(root, parents);
  const name = Buffer.from(components.at(-1) ?? '');
  const found = yield* entriesAt({ handle, components: parents }, name, [], signal);
  // It was there a moment ago: an archive without it would look like an empty one.
  if (found === undefined) throw changed(components.join('/'));
}

async function* tree(
  root: string,
  start: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry, void> {
  const walk = new Walk(root, start);
  for await (const directory of walk.directories(signal)) {
    const prefix = directory.components.slice(start.length);
    const below: Name[][] = [];
    try {
      for await (const name of directory.names()) {
        const type = yield* entriesAt(directory, name, prefix, signal);
        if (type === 'directory') below.push([...directory.components, name]);
      }
    } catch (error) {
      if (directory.components === start || !isPassing(error)) throw error;
    }
    if (walk.descend(below) > 0) {
      throw tooLarge(`There are directories more than ${MAX_DEPTH} levels deep`);
    }
  }
}

/** The entry with this name, if it belongs into an archive; returns what it was. */
async function* entriesAt(
  { handle, components }: Pick<WalkedDirectory, 'handle' | 'components'>,
  name: Buffer,
  prefix: readonly Name[],
  signal: AbortSignal,
): AsyncGenerator<ArchiveEntry, ArchiveEntry['type'] | undefined> {
  const path = [...components, name];
  await using reference = await unlessPassing(openReference(handle, name, path));
  if (!reference) return undefined;
  const stats = await reference.stat();
  const isDirectory = stats.isDirectory();
  if (!isDirectory && !stats.isFile()) return undefined;
  await using file = isDirectory ? undefined : await unlessPassing(openReferenced(reference, path));
  if (!isDirectory && !file) return undefined;
  const size = file ? (await file.stat()).size : 0;
  yield {
    name: joinBytes([...prefix, name]),
    type: isDirectory ? 'directory' : 'file',
    size,
    mode: stats.mode,
    modifiedMs: stats.mtimeMs,
    content: () => content(file, size, path, signal),
  };
  return isDirectory ? 'directory' : 'file';
}

async function* content(
  file: FileHandle | undefined,
  size: number,
  path: readonly Name[],
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  if (file) yield* exactBytes(file, { start: 0, end: size, path: path.join('/') }, signal);
}

async function unlessPassing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isPassing(error)) return undefined;
    throw error;
  }
}

async function isStillAt(dir: string, workspace: FileHandle): Promise<boolean> {
  const opened = await workspace.stat({ bigint: true });
  const now = await stat(dir, { bigint: true }).catch(() => undefined);
  return now !== undefined && now.ino === opened.ino && now.dev === opened.dev;
}

function joinBytes(names: readonly Name[]): Buffer {
  return Buffer.concat(
    names.flatMap((name, i) => [...(i > 0 ? [Buffer.from('/')] : []), Buffer.from(name as Buffer)]),
  );
}

async function* gathered(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
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

function tooLarge(what: string): SandboxError {
  return new SandboxError('artifact_too_large', `${what}; archive a part of it.`);
}
