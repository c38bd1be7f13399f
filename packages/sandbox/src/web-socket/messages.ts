/** The frames of RFC 6455, as a client reads and writes them: no extensions, messages in one piece on the way out. */
import { randomBytes } from 'node:crypto';

const FINAL = 0x80;
const MASKED = 0x80;
const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export type MessageType = Exclude<keyof typeof OPCODES, 'continuation'>;

export interface Message {
  type: MessageType;
  bytes: Buffer;
}

/** A client masks what it sends, so that no proxy takes it for something else. */
export function encodeMessage(type: MessageType, bytes: Buffer): Buffer {
  const mask = randomBytes(4);
  const masked = Buffer.from(bytes);
  for (let index = 0; index < masked.length; index++) masked[index]! ^= mask[index & 3]!;
  return Buffer.concat([header(FINAL | OPCODES[type], bytes.length), mask, masked]);
}

function header(first: number, length: number): Buffer {
  if (length < 126) return Buffer.from([first, MASKED | length]);
  const bytes = Buffer.alloc(length < 0x10000 ? 4 : 10);
  bytes.writeUInt8(first);
  bytes.writeUInt8(MASKED | (bytes.length === 4 ? 126 : 127), 1);
  if (bytes.length === 4) bytes.writeUInt16BE(length, 2);
  else bytes.writeBigUInt64BE(BigInt(length), 2);
  return bytes;
}

interface Frame {
  final: boolean;
  opcode: number;
  payload: Buffer;
  end: number;
}

/** Takes bytes as they come, however they were cut. */
export class MessageParser {
  readonly #maxBytes: number;
  #rest: Buffer = Buffer.alloc(0);
  /** Of a message that comes in several frames. */
  #parts: Buffer[] = [];
  #type: MessageType = 'binary';

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Throws where the bytes are no frames, or too many. */
  *parse(chunk: Buffer): Generator<Message, void> {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let frame = this.#first(rest); frame; frame = this.#first(rest)) {
      rest = rest.subarray(frame.end);
      const message = this.#take(frame);
      if (message) yield message;
    }
    this.#rest = rest;
  }

  #take({ final, opcode, payload }: Frame): Message | undefined {
    if (opcode === OPCODES.close) return { type: 'close', bytes: payload };
    if (opcode === OPCODES.ping) return { type: 'ping', bytes: payload };
    if (opcode === OPCODES.pong) return { type: 'pong', bytes: payload };
    if (opcode !== OPCODES.continuation) this.#type = opcode === OPCODES.text ? 'text' : 'binary';
    this.#parts.push(payload);
    const length = this.#parts.reduce((sum, part) => sum + part.length, 0);
    if (length > this.#maxBytes) throw tooLong(this.#maxBytes);
    if (!final) return undefined;
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    return { type: this.#type, bytes };
  }

  #first(bytes: Buffer): Frame | undefined {
    if (bytes.length < 2) return undefined;
    const first = bytes.readUInt8();
    const short = bytes.readUInt8(1);
    if (short & MASKED || first & 0x70)
      throw new Error('what came over the WebSocket is no frame of a server');
    const start = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (bytes.length < start) return undefined;
    const length =
      short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
    if (length > this.#maxBytes) throw tooLong(this.#maxBytes);
    const end = start + length;
    if (bytes.length < end) return undefined;
    return { final: (first & FINAL) !== 0, opcode: first & 0x0f, payload: bytes.subarray(start, end), end };
  }
}

function tooLong(maxBytes: number): Error {
  return new Error(`a message over the WebSocket is over ${maxBytes} bytes`);
}
