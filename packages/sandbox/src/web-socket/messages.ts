/** The frames of RFC 6455, as a client reads and writes them: no extensions, messages in one piece on the way out. */
import { randomBytes } from 'node:crypto';

const FINAL = 0x80;
const MASKED = 0x80;
const RESERVED = 0x70;
const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const TYPES = new Map<number, keyof typeof OPCODES>(
  Object.entries(OPCODES).map(([type, opcode]) => [opcode, type as keyof typeof OPCODES]),
);
/** The most bytes of a close, ping or pong, which always comes in one frame. */
const MAX_CONTROL_BYTES = 125;

export type MessageType = Exclude<keyof typeof OPCODES, 'continuation'>;

export interface Message {
  type: MessageType;
  bytes: Buffer;
}

/** A client masks what it sends, so that no proxy takes it for another protocol. */
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
  type: keyof typeof OPCODES;
  payload: Buffer;
  end: number;
}

/** A message whose last frame has not come yet. */
interface Unfinished {
  type: MessageType;
  parts: Buffer[];
  length: number;
}

/** Takes bytes as they come, however they were cut. */
export class MessageParser {
  readonly #maxBytes: number;
  #rest: Buffer = Buffer.alloc(0);
  #unfinished: Unfinished | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Throws if the bytes are not frames, or a message is too long. */
  *parse(chunk: Buffer): Generator<Message, void> {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let frame = this.#first(rest); frame; frame = this.#first(rest)) {
      rest = rest.subarray(frame.end);
      const message = this.#take(frame);
      if (message) yield message;
    }
    this.#rest = rest;
  }

  #take({ final, type, payload }: Frame): Message | undefined {
    if (type === 'close' || type === 'ping' || type === 'pong') return { type, bytes: payload };
    // A message begins when the last one is over, and only one that has begun continues.
    if ((type === 'continuation') === (this.#unfinished === undefined)) throw noFrame();
    if (type !== 'continuation') this.#unfinished = { type, parts: [], length: 0 };
    const message = this.#unfinished as Unfinished;
    // An empty part would cost memory that no limit counts.
    if (payload.length > 0) message.parts.push(payload);
    message.length += payload.length;
    if (message.length > this.#maxBytes) throw tooLong(this.#maxBytes);
    if (!final) return undefined;
    this.#unfinished = undefined;
    return { type: message.type, bytes: Buffer.concat(message.parts) };
  }

  #first(bytes: Buffer): Frame | undefined {
    if (bytes.length < 2) return undefined;
    const first = bytes.readUInt8();
    const short = bytes.readUInt8(1);
    const final = (first & FINAL) !== 0;
    const opcode = first & 0x0f;
    const type = TYPES.get(opcode);
    if (type === undefined || short & MASKED || first & RESERVED) throw noFrame();
    if (opcode >= OPCODES.close && (!final || short > MAX_CONTROL_BYTES)) throw noFrame();
    const start = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (bytes.length < start) return undefined;
    const length =
      short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
    if (length > this.#maxBytes) throw tooLong(this.#maxBytes);
    const end = start + length;
    if (bytes.length < end) return undefined;
    return { final, type, payload: bytes.subarray(start, end), end };
  }
}

function noFrame(): Error {
  return new Error('expected a frame of a server from the WebSocket, got other bytes');
}

function tooLong(maxBytes: number): Error {
  return new Error(`a message over the WebSocket is over ${maxBytes} bytes`);
}
