/** The central directory of a zip: where it is, and what it says about each entry. Also in the form for large files. */
import { ArchiveError, type ArchiveSource } from './archive-entry.ts';

const END = 0x06054b50;
const END_BYTES = 22;
const END_64 = 0x06064b50;
const END_64_BYTES = 56;
const LOCATOR_64 = 0x07064b50;
const LOCATOR_64_BYTES = 20;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const COMMENT_MAX = 0xffff;
const EXTRA_64 = 0x0001;
const [MAX_16, MAX_32] = [0xffff, 0xffffffff];
/** Names, extra fields and comments of as many entries as are unpacked. */
const DIRECTORY_MAX = 64 * 1024 * 1024;

const UNIX = 3;
const [TYPE_BITS, LINK, FILE, DIRECTORY] = [0o170000, 0o120000, 0o100000, 0o040000];
const SLASH = '/'.charCodeAt(0);

export interface DirectoryPlace {
  entries: number;
  start: number;
  end: number;
}

export interface ZipEntry {
  name: Buffer;
  type: 'file' | 'directory' | 'symlink' | 'other';
  encrypted: boolean;
  method: number;
  crc: number;
  size: number;
  compressedSize: number;
  /** Of the header in front of the content. */
  offset: number;
  mode: number;
  modifiedMs: number;
}

export async function findDirectory(source: ArchiveSource): Promise<DirectoryPlace> {
  const tailStart = Math.max(0, source.size - END_BYTES - COMMENT_MAX - LOCATOR_64_BYTES);
  const tail = await read(source, tailStart, source.size);
  const at = findEnd(tail);
  if (at === undefined) throw broken();
  const small = {
    entries: tail.readUInt16LE(at + 10),
    size: tail.readUInt32LE(at + 12),
    start: tail.readUInt32LE(at + 16),
  };
  const isLarge = small.entries === MAX_16 || small.size === MAX_32 || small.start === MAX_32;
  const locator = at - LOCATOR_64_BYTES;
  const has64 = isLarge && locator >= 0 && tail.readUInt32LE(locator) === LOCATOR_64;
  const { entries, size, start } = has64 ? await readEnd64(source, uint64(tail, locator + 8)) : small;
  const end = start + size;
  if (end > tailStart + at || size > DIRECTORY_MAX) throw broken();
  return { entries, start, end };
}

/** The last record that fits to the end of the file: a comment may look like one. */
function findEnd(tail: Buffer): number | undefined {
  for (let at = tail.length - END_BYTES; at >= 0; at--) {
    if (tail.readUInt32LE(at) === END && at + END_BYTES + tail.readUInt16LE(at + 20) === tail.length)
      return at;
  }
  return undefined;
}

async function readEnd64(
  source: ArchiveSource,
  at: number,
): Promise<{ entries: number; size: number; start: number }> {
  if (at + END_64_BYTES > source.size) throw broken();
  const end = await read(source, at, at + END_64_BYTES);
  if (end.readUInt32LE(0) !== END_64) throw broken();
  return { entries: uint64(end, 32), size: uint64(end, 40), start: uint64(end, 48) };
}

export function parseDirectory(directory: Buffer, count: number): ZipEntry[] {
  const entries: ZipEntry[] = [];
  let at = 0;
  while (entries.length < count) {
    if (at + ENTRY_BYTES > directory.length || directory.readUInt32LE(at) !== ENTRY) throw broken();
    const nameEnd = at + ENTRY_BYTES + directory.readUInt16LE(at + 28);
    const extraEnd = nameEnd + directory.readUInt16LE(at + 30);
    const end = extraEnd + directory.readUInt16LE(at + 32);
    if (end > directory.length) throw broken();
    const name = Buffer.from(directory.subarray(at + ENTRY_BYTES, nameEnd));
    entries.push(parseEntry(directory.subarray(at, nameEnd), name, directory.subarray(nameEnd, extraEnd)));
    at = end;
  }
  return entries;
}

function parseEntry(entry: Buffer, name: Buffer, extra: Buffer): ZipEntry {
  const isUnix = entry[5] === UNIX;
  const mode = isUnix ? entry.readUInt32LE(38) >>> 16 : 0;
  const sizes = sizesOf(entry, extra);
  return {
    name,
    type: typeOf(name, mode),
    encrypted: (entry.readUInt16LE(8) & 1) !== 0,
    method: entry.readUInt16LE(10),
    crc: entry.readUInt32LE(16),
    ...sizes,
    // Programs that know no permissions leave them empty.
    mode: (mode & 0o777) === 0 ? 0o644 : mode & 0o777,
    modifiedMs: dosTime(entry.readUInt16LE(14), entry.readUInt16LE(12)),
  };
}

function typeOf(name: Buffer, mode: number): ZipEntry['type'] {
  if (name.at(-1) === SLASH) return 'directory';
  switch (mode & TYPE_BITS) {
    case 0:
    case FILE:
      return 'file';
    case LINK:
      return 'symlink';
    case DIRECTORY:
      return 'directory';
    default:
      return 'other';
  }
}

/** A number that does not fit is in the extra field, in this order. */
function sizesOf(entry: Buffer, extra: Buffer): Pick<ZipEntry, 'size' | 'compressedSize' | 'offset'> {
  const large = extraField(extra, EXTRA_64);
  let at = 0;
  const orLarge = (value: number): number => {
    if (value !== MAX_32) return value;
    if (large === undefined || at + 8 > large.length) throw broken();
    at += 8;
    return uint64(large, at - 8);
  };
  const size = orLarge(entry.readUInt32LE(24));
  const compressedSize = orLarge(entry.readUInt32LE(20));
  const offset = orLarge(entry.readUInt32LE(42));
  return { size, compressedSize, offset };
}

function extraField(extra: Buffer, id: number): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length; ) {
    const end = at + 4 + extra.readUInt16LE(at + 2);
    if (end > extra.length) return undefined;
    if (extra.readUInt16LE(at) === id) return extra.subarray(at + 4, end);
    at = end;
  }
  return undefined;
}

/** In the time zone of whoever packed it, which nobody knows: read as UTC. */
function dosTime(date: number, time: number): number {
  const [year, month, day] = [1980 + (date >> 9), (date >> 5) & 0xf, date & 0x1f];
  return Date.UTC(year, month - 1, day, time >> 11, (time >> 5) & 0x3f, (time & 0x1f) * 2);
}

function uint64(bytes: Buffer, at: number): number {
  const value = bytes.readBigUInt64LE(at);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw broken();
  return Number(value);
}

async function read(source: ArchiveSource, start: number, end: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  if (end > start) for await (const piece of source.read(start, end)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function broken(): ArchiveError {
  return new ArchiveError('it is a zip without a valid directory of its entries');
}
