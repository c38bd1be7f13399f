/**
 * Reads a tar (ustar, pax, GNU) as a stream of entries. Names are bytes, as tar has them. Kinds of entries that a
 * workspace does not take are errors: leaving one out would give the client a tree that it did not send.
 */
import { type ArchivedEntry, ArchiveError, noContent, shownName } from './archive-entry.ts';
import { ByteStream } from './byte-stream.ts';
import { NO_OVERRIDES, type Overrides, parsePax } from './tar-pax.ts';

const BLOCK = 512;
/** A path, or a set of pax fields; more is an attack. */
const META_MAX = 1024 * 1024;

const REFUSED: Record<string, string> = {
  1: 'is a hard link; pack the archive with --hard-dereference',
  3: 'is a device',
  4: 'is a device',
  6: 'is a FIFO',
  S: 'is a sparse file; pack the archive without --sparse',
  M: 'continues another volume',
};

interface Header {
  name: Buffer;
  linkName: Buffer;
  mode: number;
  size: number;
  modifiedS: number;
  type: string;
}

export async function* readTar(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ArchivedEntry, void> {
  const stream = new ByteStream(bytes);
  let next = NO_OVERRIDES;
  for (;;) {
    const block = await stream.take(BLOCK);
    // Some programs write no end; a block of zeros is one.
    if (block === undefined || block.every((byte) => byte === 0)) return await stream.drain();
    if (block.length < BLOCK) throw new ArchiveError('it ends in the middle of an entry');
    const header = parseHeader(block);
    if ('xgLKV'.includes(header.type)) {
      next = await readMeta(stream, header, next);
      continue;
    }
    const { size = header.size } = next;
    const entry = toEntry(header, next, size);
    next = NO_OVERRIDES;
    const isFile = entry.type === 'file';
    let isRead = !isFile;
    entry.content = isFile
      ? () => {
          isRead = true;
          return stream.part(size);
        }
      : noContent;
    yield entry;
    // Directories and links have no content, whatever their size says; GNU tar reads them so, too.
    if (!isRead) await stream.skip(size);
    if (isFile) await stream.skip(padding(size));
  }
}

/** Reads a header about the next entry, or about the whole archive. */
async function readMeta(stream: ByteStream, { type, size }: Header, next: Overrides): Promise<Overrides> {
  if (size < 0 || size > META_MAX) {
    throw new ArchiveError(`a header of it has ${size} bytes; at most ${META_MAX} are read`);
  }
  const content = size === 0 ? Buffer.alloc(0) : await stream.take(size);
  if (content === undefined) throw new ArchiveError('it ends in the middle of an entry');
  await stream.skip(padding(size));
  switch (type) {
    case 'x':
      return { ...next, ...parsePax(content) };
    case 'L':
      return { ...next, name: untilZero(content) };
    case 'K':
      return { ...next, linkName: untilZero(content) };
    default:
      // Headers about the whole archive usually tell of owners and where it came from: nothing that is needed here.
      return next;
  }
}

function toEntry(header: Header, overrides: Overrides, size: number): ArchivedEntry {
  const { name = header.name, linkName = header.linkName, modifiedS = header.modifiedS } = overrides;
  const refusal = overrides.sparse === true ? REFUSED.S : REFUSED[header.type];
  if (refusal !== undefined) throw new ArchiveError(`${shownName(name)} ${refusal}`);
  const shared = { name, mode: header.mode, modifiedMs: modifiedS * 1000, content: noContent };
  if (header.type === '2') return { ...shared, type: 'symlink', size: 0, target: linkName };
  // In the oldest form only the slash tells that it is a directory.
  if (header.type === '5' || name.at(-1) === SLASH) return { ...shared, type: 'directory', size: 0 };
  // An unknown kind is to be read as a file.
  return { ...shared, type: 'file', size };
}

const SLASH = '/'.charCodeAt(0);

function parseHeader(block: Buffer): Header {
  if (!hasChecksum(block)) {
    throw new ArchiveError('it is damaged, or neither a tar, a tar.gz nor a zip');
  }
  const isUstar = block.toString('latin1', 257, 262) === 'ustar';
  // GNU tar uses the place of the prefix for something else.
  const isGnu = block.toString('latin1', 257, 265) === 'ustar  \0';
  const prefix = isUstar && !isGnu ? untilZero(block.subarray(345, 500)) : Buffer.alloc(0);
  const name = untilZero(block.subarray(0, 100));
  return {
    name: prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]),
    linkName: untilZero(block.subarray(157, 257)),
    mode: number(block.subarray(100, 108)),
    size: number(block.subarray(124, 136)),
    modifiedS: number(block.subarray(136, 148)),
    type: block[156] === 0 ? '0' : String.fromCharCode(block[156]!),
  };
}

/** The sum of all bytes, with blanks in its own place. */
function hasChecksum(block: Buffer): boolean {
  let sum = 8 * 0x20;
  for (const [index, byte] of block.entries()) if (index < 148 || index >= 156) sum += byte;
  return sum === number(block.subarray(148, 156));
}

/** Octal digits, or the number itself where the first bit is set. */
function number(field: Buffer): number {
  if ((field[0]! & 0x80) === 0) {
    const digits = untilZero(field).toString('latin1').trim();
    return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : -1;
  }
  let value = field[0]! & 0x3f;
  for (const byte of field.subarray(1)) value = value * 256 + byte;
  if ((field[0]! & 0x40) !== 0) return -1;
  return value;
}

function untilZero(field: Buffer): Buffer {
  const end = field.indexOf(0);
  return Buffer.from(end === -1 ? field : field.subarray(0, end));
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}
