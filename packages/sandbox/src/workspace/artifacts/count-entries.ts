/** How many files and directories an archive of ours holds. It is read in pieces: unpacked it may be larger than memory. */
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ArchiveFormat } from '../../artifacts.ts';

const BLOCK = 512;
const SIZE_AT = 124;
const TYPE_AT = 156;
const COUNTED = new Set(['0', '5'].map((flag) => flag.charCodeAt(0)));

export async function countEntries(format: ArchiveFormat, content: Buffer): Promise<number> {
  if (format === 'zip') return countZip(content);
  const source = Readable.from([content]);
  return countTar(format === 'tar' ? source : source.pipe(createGunzip()));
}

/** The last record has the number, or says that the one of zip64 before it has. */
function countZip(content: Buffer): number {
  const end = content.length - 22;
  const count = content.readUInt16LE(end + 10);
  return count < 0xffff ? count : Number(content.readBigUInt64LE(end - 20 - 56 + 32));
}

async function countTar(chunks: AsyncIterable<Buffer>): Promise<number> {
  let count = 0;
  /** Bytes of content that come before the next header. */
  let skipped = 0;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length > 0) {
      const passed = Math.min(skipped, rest.length);
      skipped -= passed;
      rest = rest.subarray(passed);
      if (skipped > 0 || rest.length < BLOCK) break;
      // The archive ends with empty blocks, whose type is 0.
      if (COUNTED.has(rest[TYPE_AT] as number)) count += 1;
      skipped = Math.ceil(sizeIn(rest) / BLOCK) * BLOCK;
      rest = rest.subarray(BLOCK);
    }
  }
  return count;
}

/** As tar.ts writes it. */
function sizeIn(header: Buffer): number {
  if (header[SIZE_AT] === 0x80) return Number(header.readBigUInt64BE(SIZE_AT + 4));
  return Number.parseInt(header.toString('latin1', SIZE_AT, SIZE_AT + 11), 8) || 0;
}
