/** A minimal static executable for Linux (ELF): one read-only segment with code and data. */
import type { Architecture } from './call-numbers.ts';

const MACHINE = { x64: 62, arm64: 183 };
const HEADER_BYTES = 64;
const PART_BYTES = 56;
const PARTS = 2;

const ADDRESS = 0x400000;
/** The address of the content when it is loaded. */
export const CONTENT_ADDRESS = ADDRESS + HEADER_BYTES + PARTS * PART_BYTES;

/** The largest page of either architecture. */
const PAGE_BYTES = 0x10000;

const LOADED = 1;
const STACK = 0x6474e551;
const READ = 4;
const WRITE = 2;
const EXECUTE = 1;

/** It starts at the first byte of its content. */
export function executable(content: Buffer, architecture: Architecture): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  // 64 bits, little-endian, the only version there is.
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(header);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(MACHINE[architecture], 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(CONTENT_ADDRESS), 24);
  header.writeBigUInt64LE(BigInt(HEADER_BYTES), 32);
  header.writeUInt16LE(HEADER_BYTES, 52);
  header.writeUInt16LE(PART_BYTES, 54);
  header.writeUInt16LE(PARTS, 56);
  const size = HEADER_BYTES + PARTS * PART_BYTES + content.length;
  return Buffer.concat([
    header,
    part(LOADED, READ | EXECUTE, ADDRESS, size),
    // Without this the kernel takes it for an old program that needs an executable stack.
    part(STACK, READ | WRITE, 0, 0),
    content,
  ]);
}

function part(type: number, rights: number, address: number, size: number): Buffer {
  const bytes = Buffer.alloc(PART_BYTES);
  bytes.writeUInt32LE(type, 0);
  bytes.writeUInt32LE(rights, 4);
  for (const offset of [16, 24]) bytes.writeBigUInt64LE(BigInt(address), offset);
  for (const offset of [32, 40]) bytes.writeBigUInt64LE(BigInt(size), offset);
  bytes.writeBigUInt64LE(BigInt(PAGE_BYTES), 48);
  return bytes;
}
