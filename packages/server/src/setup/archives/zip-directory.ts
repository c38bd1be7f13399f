/**
 * The central directory of a zip: where it is, and what it says about each entry. Also in the form for large files.
 *
 * Programs find the directory in different ways. Here only a zip is valid that leaves them no choice: the directory, what
 * describes it in the large form, and the end follow each other without a gap, every number that is there twice is the same,
 * and the directory has as many entries as it says, and nothing else.
 */
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
const MAX_32 = 0xffffffff;
const MAX_16 = 0xffff;
/** A password, strong encryption, or a directory that is encrypted itself. */
const ENCRYPTED = 0x0001 | 0x0040 | 0x2000;
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
  /** Where the header begins that is in front of the content. */
  offset: number;
  mode: number;
  modifiedMs: number;
}

export async function findDirectory(source: ArchiveSource): Promise<DirectoryPlace> {
  const tailStart = Math.max(0, source.size - END_BYTES - COMMENT_MAX - LOCATOR_64_BYTES);
  const tail = await read(source, tailStart, source.size);
  const at = findEnd(tail);
  if (at === undefined) throw broken();
  const small: EndNumbers = {
    disk: tail.readUInt16LE(at + 4),
    directoryDisk: tail.readUInt16LE(at + 6),
    entriesHere: tail.readUInt16LE(at + 8),
    entries: tail.readUInt16LE(at + 10),
    size: tail.readUInt32LE(at + 12),
    start: tail.readUInt32LE(at + 16),
  };
  const locator = at - LOCATOR_64_BYTES;
  const has64 = locator >= 0 && tail.readUInt32LE(locator) === LOCATOR_64;
  const large = has64 ? await readEnd64(source, uint64(tail, locator + 8), tailStart + locator) : undefined;
  const { entries, entriesHere, size, start, disk, directoryDisk } = large?.numbers ?? small;
  const isWhole = disk === 0 && directoryDisk === 0 && entriesHere === entries;
  const isNext = start + size === (large?.at ?? tailStart + at);
  if (!isWhole || !isNext || size > DIRECTORY_MAX) throw broken();
  if (large !== undefined && !isSame(small, large.numbers)) throw broken();
  return { entries, start, end: start + size };
}

/** The numbers about the directory that are at the end of the archive. */
interface EndNumbers {
  disk: number;
  directoryDisk: number;
  entriesHere: number;
  entries: number;
  size: number;
  start: number;
}

/** Whether each number of the small form is the same, or says that the number does not fit. */
function isSame(small: EndNumbers, large: EndNumbers): boolean {
  const names = Object.keys(small) as (keyof EndNumbers)[];
  return names.every((name) => {
    const most = name === 'size' || name === 'start' ? MAX_32 : MAX_16;
    return small[name] === large[name] || small[name] === most;
  });
}

/** The last record that fits to the end of the file: a comment may look like one. */
function findEnd(tail: Buffer): number | undefined {
  for (let at = tail.length - END_BYTES; at >= 0; at--) {
    if (tail.readUInt32LE(at) === END && at + END_BYTES + tail.readUInt16LE(at + 20) === tail.length)
      return at;
  }
  return undefined;
}

/** It ends where its locator begins. */
async function readEnd64(
  source: ArchiveSource,
  at: number,
  locator: number,
): Promise<{ at: number; numbers: EndNumbers }> {
  if (at + END_64_BYTES > locator) throw broken();
  const end = await read(source, at, at + END_64_BYTES);
  if (end.readUInt32LE(0) !== END_64 || at + 12 + uint64(end, 4) !== locator) throw broken();
  const numbers = {
    disk: end.readUInt32LE(16),
    directoryDisk: end.readUInt32LE(20),
    entriesHere: uint64(end, 24),
    entries: uint64(end, 32),
    size: uint64(end, 40),
    start: uint64(end, 48),
  };
  return { at, numbers };
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
  if (at !== directory.length) throw broken();
  return entries;
}

function parseEntry(entry: Buffer, name: Buffer, extra: Buffer): ZipEntry {
  const isUnix = entry[5] === UNIX;
  const mode = isUnix ? entry.readUInt32LE(38) >>> 16 : 0;
  const sizes = sizesOf(entry, extra);
  return {
    name,
    type: typeOf(name, mode),
    encrypted: isEncrypted(entry.readUInt16LE(8)),
    method: entry.readUInt16LE(10),
    crc: entry.readUInt32LE(16),
    ...sizes,
    // Programs that know no permissions leave them empty.
    mode: (mode & 0o777) === 0 ? 0o644 : mode & 0o777,
    modifiedMs: dosTime(entry.readUInt16LE(14), entry.readUInt16LE(12)),
  };
}

export function isEncrypted(flags: number): boolean {
  return (flags & ENCRYPTED) !== 0;
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

function sizesOf(entry: Buffer, extra: Buffer): Pick<ZipEntry, 'size' | 'compressedSize' | 'offset'> {
  const given = [entry.readUInt32LE(24), entry.readUInt32LE(20), entry.readUInt32LE(42)];
  const [size, compressedSize, offset] = orLarge(given, extra) as [number, number, number];
  return { size, compressedSize, offset };
}

/** Numbers that do not fit are in the extra field, in the same order. */
export function orLarge(numbers: readonly number[], extra: Buffer): number[] {
  const large = extraField(extra, EXTRA_64);
  let at = 0;
  return numbers.map((value) => {
    if (value !== MAX_32) return value;
    if (large === undefined || at + 8 > large.length) throw broken();
    at += 8;
    return uint64(large, at - 8);
  });
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
