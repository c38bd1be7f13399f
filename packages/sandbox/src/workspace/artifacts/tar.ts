/**
 * The tar format, as GNU tar writes it: names of any length and any bytes, sizes of any length. It is written here
 * because names that are not UTF-8 have to stay unchanged, and the rest is one header.
 */
import type { ArchiveEntry } from './archive-entry.ts';

const BLOCK = 512;
const NAME_BYTES = 100;
/** Octal digits that fit into the field of a size or time. */
const OCTAL_LIMIT = 8 ** 11;

export async function* tar(entries: AsyncIterable<ArchiveEntry>): AsyncGenerator<Buffer, void> {
  for await (const entry of entries) {
    yield tarHeader(entry);
    if (entry.type === 'directory') continue;
    yield* entry.content();
    if (entry.size % BLOCK > 0) yield Buffer.alloc(BLOCK - (entry.size % BLOCK));
  }
  yield Buffer.alloc(2 * BLOCK);
}

export function tarHeader(entry: Omit<ArchiveEntry, 'content'>): Buffer {
  const isDirectory = entry.type === 'directory';
  const name = isDirectory ? Buffer.concat([entry.name, Buffer.from('/')]) : entry.name;
  const header = block({ ...entry, name, typeFlag: isDirectory ? '5' : '0' });
  return name.length > NAME_BYTES ? Buffer.concat([longName(name), header]) : header;
}

/** A separate entry before the real one, whose content is the name. */
function longName(name: Buffer): Buffer {
  const size = name.length + 1;
  const content = Buffer.alloc(Math.ceil(size / BLOCK) * BLOCK);
  name.copy(content);
  const link = { name: Buffer.from('././@LongLink'), size, mode: 0, modifiedMs: 0, typeFlag: 'L' };
  return Buffer.concat([block(link), content]);
}

interface BlockFields {
  name: Buffer;
  size: number;
  mode: number;
  modifiedMs: number;
  typeFlag: string;
}

function block({ name, size, mode, modifiedMs, typeFlag }: BlockFields): Buffer {
  const header = Buffer.alloc(BLOCK);
  const modifiedS = Math.min(Math.max(0, Math.floor(modifiedMs / 1000)), OCTAL_LIMIT - 1);
  name.copy(header, 0, 0, NAME_BYTES);
  header.write(octal(mode & 0o777, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  writeSize(header, size);
  header.write(octal(modifiedS, 11), 136);
  header.write('        ', 148);
  header.write(typeFlag, 156);
  header.write('ustar  ', 257);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${octal(sum, 6)}\0 `, 148);
  return header;
}

function writeSize(header: Buffer, size: number): void {
  if (size < OCTAL_LIMIT) {
    header.write(octal(size, 11), 124);
    return;
  }
  // A binary number, marked by its first bit.
  header[124] = 0x80;
  header.writeBigUInt64BE(BigInt(size), 128);
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}
