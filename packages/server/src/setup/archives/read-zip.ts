/**
 * Reads a zip by its central directory, which says where each entry is. So its bytes must be readable in any part.
 *
 * A zip can be built so that readers disagree about it, or so that all entries share the same compressed bytes. Here the first
 * entry is at the beginning, each entry lies in bytes of its own before the directory, its sizes and checksum are right, and the
 * header in front of it says the same as the directory.
 */
import { crc32, createInflateRaw } from 'node:zlib';
import {
  type ArchivedEntry,
  ArchiveError,
  type ArchiveLimits,
  type ArchiveSource,
  noContent,
  shownName,
  tooMany,
} from './archive-entry.ts';
import { through } from './through.ts';
import { findDirectory, isEncrypted, orLarge, parseDirectory, type ZipEntry } from './zip-directory.ts';

const LOCAL_HEADER = 30;
const LOCAL_SIGNATURE = 0x04034b50;
const [STORED, DEFLATED] = [0, 8];
const NUMBERS_FOLLOW = 0x0008;
/** As long as a path. */
const TARGET_MAX = 4096;

export async function* readZip(
  source: ArchiveSource,
  limits: ArchiveLimits,
): AsyncGenerator<ArchivedEntry, void> {
  const place = await findDirectory(source);
  if (place.entries > limits.maxEntries) throw tooMany(limits);
  const directory = await bytesOf(source, place.start, place.end);
  const entries = parseDirectory(directory, place.entries);
  entries.sort((one, other) => one.offset - other.offset);
  if ((entries[0]?.offset ?? place.start) !== 0) {
    throw new ArchiveError('it is a zip with something in front of its first entry');
  }
  for (const [index, entry] of entries.entries()) {
    const end = entries[index + 1]?.offset ?? place.start;
    yield await toEntry(source, entry, end);
  }
}

async function toEntry(source: ArchiveSource, entry: ZipEntry, end: number): Promise<ArchivedEntry> {
  const { name, mode, modifiedMs } = entry;
  if (entry.encrypted) throw new ArchiveError(`${shownName(name)} is encrypted`);
  const start = await dataStart(source, entry);
  if (start + entry.compressedSize > end) throw new ArchiveError(`${shownName(name)} overlaps another entry`);
  const shared = { name, mode, modifiedMs };
  const content = () => contentOf(source, entry, start);
  switch (entry.type) {
    case 'directory':
      if (entry.size > 0) throw new ArchiveError(`the directory ${shownName(name)} has content`);
      return { ...shared, type: 'directory', size: 0, content: noContent };
    case 'symlink':
      return {
        ...shared,
        type: 'symlink',
        size: 0,
        target: await targetOf(entry, content()),
        content: noContent,
      };
    case 'file':
      return { ...shared, type: 'file', size: entry.size, content };
    default:
      throw new ArchiveError(`${shownName(name)} is a device, a FIFO or a socket`);
  }
}

async function* contentOf(
  source: ArchiveSource,
  entry: ZipEntry,
  start: number,
): AsyncGenerator<Buffer, void> {
  const { name, size, compressedSize, crc } = entry;
  const packed = source.read(start, start + compressedSize);
  let [length, sum] = [0, 0];
  for await (const bytes of unpacked(packed, entry)) {
    length += bytes.length;
    if (length > size) throw damaged(name);
    sum = crc32(bytes, sum);
    yield bytes;
  }
  if (length !== size || sum !== crc) throw damaged(name);
}

async function* unpacked(
  packed: AsyncIterable<Uint8Array>,
  { name, method, compressedSize }: ZipEntry,
): AsyncGenerator<Buffer, void> {
  if (method === STORED) {
    for await (const bytes of packed) yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return;
  }
  if (method !== DEFLATED) {
    throw new ArchiveError(
      `${shownName(name)} is compressed with the method ${method}; only deflate is known`,
    );
  }
  const inflate = createInflateRaw();
  try {
    yield* through(packed, inflate);
    // Behind the end of the compressed data there may be bytes that nobody has looked at.
    if (inflate.bytesWritten !== compressedSize) throw damaged(name);
  } catch (error) {
    if (String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw damaged(name);
    throw error;
  }
}

/** The header in front of the content has lengths of its own. */
async function dataStart(source: ArchiveSource, entry: ZipEntry): Promise<number> {
  const { name, offset } = entry;
  if (offset + LOCAL_HEADER > source.size) throw damaged(name);
  const header = await bytesOf(source, offset, offset + LOCAL_HEADER);
  const nameEnd = offset + LOCAL_HEADER + header.readUInt16LE(26);
  const start = nameEnd + header.readUInt16LE(28);
  if (header.readUInt32LE(0) !== LOCAL_SIGNATURE || start > source.size) throw damaged(name);
  const rest = await bytesOf(source, offset + LOCAL_HEADER, start);
  const own = rest.subarray(0, nameEnd - offset - LOCAL_HEADER);
  if (!own.equals(name)) {
    throw new ArchiveError(`${shownName(name)} has another name in front of its content`);
  }
  if (!saysTheSame(header, rest.subarray(own.length), entry)) {
    throw new ArchiveError(
      `${shownName(name)} is described differently by the header in front of its content than by the directory of the zip`,
    );
  }
  return start;
}

/** A program that could not go back to the header has left the numbers to what follows the content. */
function saysTheSame(header: Buffer, extra: Buffer, { method, crc, ...entry }: ZipEntry): boolean {
  const flags = header.readUInt16LE(6);
  if (isEncrypted(flags) || header.readUInt16LE(8) !== method) return false;
  if ((flags & NUMBERS_FOLLOW) !== 0) return true;
  const given = [header.readUInt32LE(22), header.readUInt32LE(18)];
  const [size, compressedSize] = orLarge(given, extra);
  return header.readUInt32LE(14) === crc && size === entry.size && compressedSize === entry.compressedSize;
}

async function targetOf({ name, size }: ZipEntry, content: AsyncIterable<Buffer>): Promise<Buffer> {
  if (size > TARGET_MAX) throw new ArchiveError(`the link ${shownName(name)} has a target of ${size} bytes`);
  const pieces: Buffer[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function bytesOf(source: ArchiveSource, start: number, end: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  if (end > start) for await (const piece of source.read(start, end)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function damaged(name: Buffer): ArchiveError {
  return new ArchiveError(`${shownName(name)} is damaged`);
}
