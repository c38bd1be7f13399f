/**
 * Reads a zip by its central directory, which says where each entry is. So its bytes must be readable in any part.
 *
 * A zip can be built so that readers disagree about it, or so that all entries share the same compressed bytes. Here each
 * entry must lie in bytes of its own before the directory, its sizes and checksum must be right, and the header in front of
 * it must have the same name.
 */
import { crc32, createInflateRaw } from 'node:zlib';
import {
  type ArchivedEntry,
  ArchiveError,
  type ArchiveSource,
  noContent,
  shownName,
} from './archive-entry.ts';
import { through } from './through.ts';
import { findDirectory, parseDirectory, type ZipEntry } from './zip-directory.ts';

const LOCAL_HEADER = 30;
const LOCAL_SIGNATURE = 0x04034b50;
const [STORED, DEFLATED] = [0, 8];
/** As long as a path. */
const TARGET_MAX = 4096;

export async function* readZip(
  source: ArchiveSource,
  { maxEntries }: { maxEntries: number },
): AsyncGenerator<ArchivedEntry, void> {
  const place = await findDirectory(source);
  if (place.entries > maxEntries) {
    throw new ArchiveError(`it has ${place.entries} entries; at most ${maxEntries} are unpacked`);
  }
  const directory = await bytesOf(source, place.start, place.end);
  const entries = parseDirectory(directory, place.entries);
  entries.sort((one, other) => one.offset - other.offset);
  for (const [index, entry] of entries.entries()) {
    const end = entries[index + 1]?.offset ?? place.start;
    yield await toEntry(source, entry, end);
  }
}

async function toEntry(source: ArchiveSource, entry: ZipEntry, end: number): Promise<ArchivedEntry> {
  const { name, mode, modifiedMs } = entry;
  if (entry.encrypted) throw new ArchiveError(`${shownName(name)} is encrypted`);
  const shared = { name, mode, modifiedMs };
  const content = () => contentOf(source, entry, end);
  switch (entry.type) {
    case 'directory':
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

async function* contentOf(source: ArchiveSource, entry: ZipEntry, end: number): AsyncGenerator<Buffer, void> {
  const { name, method, size, compressedSize, crc } = entry;
  const start = await dataStart(source, entry);
  if (start + compressedSize > end) throw new ArchiveError(`${shownName(name)} overlaps another entry`);
  const packed = source.read(start, start + compressedSize);
  let [length, sum] = [0, 0];
  for await (const bytes of unpacked(packed, method, name)) {
    length += bytes.length;
    if (length > size) throw damaged(name);
    sum = crc32(bytes, sum);
    yield bytes;
  }
  if (length !== size || sum !== crc) throw damaged(name);
}

async function* unpacked(
  packed: AsyncIterable<Uint8Array>,
  method: number,
  name: Buffer,
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
  try {
    yield* through(packed, createInflateRaw());
  } catch (error) {
    if (String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw damaged(name);
    throw error;
  }
}

/** The header in front of the content has lengths of its own. */
async function dataStart(source: ArchiveSource, { name, offset }: ZipEntry): Promise<number> {
  if (offset + LOCAL_HEADER > source.size) throw damaged(name);
  const header = await bytesOf(source, offset, offset + LOCAL_HEADER);
  const nameLength = header.readUInt16LE(26);
  const start = offset + LOCAL_HEADER + nameLength + header.readUInt16LE(28);
  if (header.readUInt32LE(0) !== LOCAL_SIGNATURE || start > source.size) throw damaged(name);
  const own = await bytesOf(source, offset + LOCAL_HEADER, offset + LOCAL_HEADER + nameLength);
  if (!own.equals(name))
    throw new ArchiveError(`${shownName(name)} has another name in front of its content`);
  return start;
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
