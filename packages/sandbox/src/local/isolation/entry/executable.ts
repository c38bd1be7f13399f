/**
 * A minimal static executable for Linux (ELF): code and data in one read-only segment, and empty memory to write to.
 */
import type { Architecture } from './call-numbers.ts';

const MACHINE = { x64: 62, arm64: 183 };
const HEADER_BYTES = 64;
const PART_BYTES = 56;
const PARTS = 3;

const ADDRESS = 0x400000;
/** The address of the content when it is loaded. */
export const CONTENT_ADDRESS = ADDRESS + HEADER_BYTES + PARTS * PART_BYTES;

const WRITABLE_ADDRESS = 0x600000;
/** Behind a copy of the header: older kernels expect every segment to have something from the file. */
export const MEMORY = WRITABLE_ADDRESS + 0x100;

/** The largest page of either architecture. */
const PAGE_BYTES = 0x10000;

const LOADED = 1;
const STACK = 0x6474e551;
const READ = 4;
const WRITE = 2;
const EXECUTE = 1;

/** It starts at the first byte of its content. Only what it uses of its memory takes any. */
export function executable(content: Buffer, architecture: Architecture, memoryBytes = 0): Buffer {
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
    part(LOADED, READ | EXECUTE, ADDRESS, size, size),
    part(LOADED, READ | WRITE, WRITABLE_ADDRESS, HEADER_BYTES, PAGE_BYTES + memoryBytes),
    // Without this the kernel takes it for an old program that needs an executable stack.
    part(STACK, READ | WRITE, 0, 0, 0),
    content,
  ]);
}

function part(type: number, rights: number, address: number, fileBytes: number, bytes: number): Buffer {
  const part = Buffer.alloc(PART_BYTES);
  part.writeUInt32LE(type, 0);
  part.writeUInt32LE(rights, 4);
  part.writeBigUInt64LE(BigInt(address), 16);
  part.writeBigUInt64LE(BigInt(address), 24);
  part.writeBigUInt64LE(BigInt(fileBytes), 32);
  part.writeBigUInt64LE(BigInt(bytes), 40);
  part.writeBigUInt64LE(BigInt(PAGE_BYTES), 48);
  return part;
}
