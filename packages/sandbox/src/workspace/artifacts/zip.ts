/**
 * The zip format, streamed: sizes and checksum follow each file, and the directory at the end needs the names of all
 * entries in memory, some hundred bytes each. Files and archives of any size (zip64).
 *
 * Unlike a tar, a zip is often unpacked by programs that treat `\` as a separator and `C:` as a drive. A command may
 * create such names to mislead them; these characters, and bytes that are not UTF-8, are written as %XX.
 */
import { isUtf8 } from 'node:buffer';
import { pipeline, Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';
import type { ArchiveEntry } from './archive-entry.ts';

const MAX_32 = 0xffff_ffff;
const MAX_16 = 0xffff;
/** A bit below, because incompressible data becomes a little longer. */
const ZIP64_FROM_BYTES = 0xf000_0000;
const VERSION = 45;
const MADE_ON_UNIX = (3 << 8) | VERSION;
/** Sizes follow the data; names are UTF-8. */
const FLAGS = 0x0808;
const STORED = 0;
const DEFLATED = 8;

interface WrittenEntry {
  name: Buffer;
  isDirectory: boolean;
  mode: number;
  modifiedMs: number;
  offset: number;
  crc: number;
  size: number;
  compressedSize: number;
}

export async function* zip(entries: AsyncIterable<ArchiveEntry>): AsyncGenerator<Buffer, void> {
  const directory: Buffer[] = [];
  let offset = 0;
  for await (const entry of entries) {
    const written: WrittenEntry = {
      name: zipName(entry),
      isDirectory: entry.type === 'directory',
      mode: entry.mode,
      modifiedMs: entry.modifiedMs,
      offset,
      crc: 0,
      size: entry.size,
      compressedSize: 0,
    };
    const header = localHeader(written);
    yield header;
    offset += header.length;
    if (!written.isDirectory) {
      for await (const chunk of deflate(entry, written)) {
        written.compressedSize += chunk.length;
        yield chunk;
      }
    }
    const descriptor = dataDescriptor(written);
    yield descriptor;
    offset += written.compressedSize + descriptor.length;
    directory.push(centralHeader(written));
  }
  let directorySize = 0;
  for (const header of directory) {
    directorySize += header.length;
    yield header;
  }
  yield endOfDirectory(directory.length, directorySize, offset);
}

function deflate(entry: ArchiveEntry, written: WrittenEntry): AsyncIterable<Buffer> {
  async function* checked() {
    for await (const block of entry.content()) {
      written.crc = crc32(block, written.crc);
      yield block;
    }
  }
  // A failure on either side ends both; the reader of the stream gets it.
  return pipeline(Readable.from(checked(), { objectMode: false }), createDeflateRaw(), () => {});
}

export function zipName({ name, type }: Pick<ArchiveEntry, 'name' | 'type'>): Buffer {
  const valid = isUtf8(name);
  const safe = Array.from(name, (byte, at) => {
    const isDrive = byte === 0x3a && at === 1;
    const isForeign = byte === 0x5c || byte < 0x20 || (byte > 0x7f && !valid);
    return isDrive || isForeign
      ? [...Buffer.from(`%${byte.toString(16).toUpperCase().padStart(2, '0')}`)]
      : [byte];
  });
  return Buffer.from([...safe.flat(), ...(type === 'directory' ? [0x2f] : [])]);
}

function isLarge({ size }: WrittenEntry): boolean {
  return size >= ZIP64_FROM_BYTES;
}

function localHeader(entry: WrittenEntry): Buffer {
  const large = isLarge(entry);
  // Its sizes are in the descriptor; the presence of this field says how long those are.
  const extra = Buffer.concat([...(large ? [zip64Extra([0, 0])] : []), timeExtra(entry)]);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(VERSION, 4);
  writeCommon(header, 6, entry);
  if (large) header.fill(0xff, 18, 26);
  header.writeUInt16LE(entry.name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, entry.name, extra]);
}

function dataDescriptor(entry: WrittenEntry): Buffer {
  const { crc, size, compressedSize } = entry;
  const large = isLarge(entry);
  const descriptor = Buffer.alloc(large ? 24 : 16);
  descriptor.writeUInt32LE(0x08074b50, 0);
  descriptor.writeUInt32LE(crc, 4);
  if (large) {
    descriptor.writeBigUInt64LE(BigInt(compressedSize), 8);
    descriptor.writeBigUInt64LE(BigInt(size), 16);
  } else {
    descriptor.writeUInt32LE(compressedSize, 8);
    descriptor.writeUInt32LE(size, 12);
  }
  return descriptor;
}

function centralHeader(entry: WrittenEntry): Buffer {
  const { name, isDirectory, mode, offset, crc, size, compressedSize } = entry;
  const large = isLarge(entry) || offset >= MAX_32;
  const extra = Buffer.concat([
    ...(large ? [zip64Extra([size, compressedSize, offset])] : []),
    timeExtra(entry),
  ]);
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(MADE_ON_UNIX, 4);
  header.writeUInt16LE(VERSION, 6);
  writeCommon(header, 8, entry);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(large ? MAX_32 : compressedSize, 20);
  header.writeUInt32LE(large ? MAX_32 : size, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  const unixMode = (isDirectory ? 0o040000 : 0o100000) | (mode & 0o777);
  header.writeUInt32LE(unixMode * 0x10000 + (isDirectory ? 0x10 : 0), 38);
  header.writeUInt32LE(large ? MAX_32 : offset, 42);
  return Buffer.concat([header, name, extra]);
}

function endOfDirectory(count: number, size: number, offset: number): Buffer {
  const large = count >= MAX_16 || size >= MAX_32 || offset >= MAX_32;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(large ? MAX_16 : count, 8);
  end.writeUInt16LE(large ? MAX_16 : count, 10);
  end.writeUInt32LE(large ? MAX_32 : size, 12);
  end.writeUInt32LE(large ? MAX_32 : offset, 16);
  if (!large) return end;
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(MADE_ON_UNIX, 12);
  record.writeUInt16LE(VERSION, 14);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(size), 40);
  record.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + size), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator, end]);
}

/** Writes the fields that both headers have in the same order: flags, method, time, date. */
function writeCommon(header: Buffer, at: number, { isDirectory, modifiedMs }: WrittenEntry): void {
  header.writeUInt16LE(FLAGS, at);
  header.writeUInt16LE(isDirectory ? STORED : DEFLATED, at + 2);
  const date = new Date(Math.max(modifiedMs, Date.UTC(1980, 0, 1)));
  const years = Math.min(date.getUTCFullYear() - 1980, 127);
  header.writeUInt16LE(
    (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1),
    at + 4,
  );
  header.writeUInt16LE((years << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate(), at + 6);
}

/** The time in UTC: the other field has no time zone. */
function timeExtra({ modifiedMs }: WrittenEntry): Buffer {
  const extra = Buffer.alloc(9);
  extra.writeUInt16LE(0x5455, 0);
  extra.writeUInt16LE(5, 2);
  extra[4] = 1;
  extra.writeInt32LE(Math.min(Math.max(0, Math.floor(modifiedMs / 1000)), 0x7fff_ffff), 5);
  return extra;
}

function zip64Extra(values: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + 8 * values.length);
  extra.writeUInt16LE(0x0001, 0);
  extra.writeUInt16LE(8 * values.length, 2);
  for (const [i, value] of values.entries()) extra.writeBigUInt64LE(BigInt(value), 4 + 8 * i);
  return extra;
}
