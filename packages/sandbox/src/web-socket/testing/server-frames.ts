/** The other end of a WebSocket, written apart from the client's code: frames of a server, and what a client sent. */
const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface ServerFrame {
  type: keyof typeof OPCODES;
  payload?: Buffer | string;
  /** The last one of its message; so by default. */
  final?: boolean;
}

/** Not masked, as a server sends it. */
export function serverFrame({ type, payload = '', final = true }: ServerFrame): Buffer {
  const bytes = Buffer.from(payload);
  const first = (final ? 0x80 : 0) | OPCODES[type];
  if (bytes.length < 126) return Buffer.concat([Buffer.from([first, bytes.length]), bytes]);
  if (bytes.length < 65_536)
    return Buffer.concat([Buffer.from([first, 126, bytes.length >> 8, bytes.length & 255]), bytes]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes.length));
  return Buffer.concat([Buffer.from([first, 127]), length, bytes]);
}

export interface ClientFrame {
  type: keyof typeof OPCODES;
  payload: Buffer;
  masked: boolean;
  /** The payload as it was on the wire. */
  raw: Buffer;
}

/** The whole frames at the beginning of `bytes`. */
export function clientFrames(bytes: Buffer): ClientFrame[] {
  const frames: ClientFrame[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const short = bytes[at + 1]! & 0x7f;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const maskAt = at + 2 + lengthBytes;
    if (bytes.length < maskAt + 4) break;
    const length = lengthBytes === 0 ? short : Number(`0x${bytes.toString('hex', at + 2, maskAt)}`);
    const raw = bytes.subarray(maskAt + 4, maskAt + 4 + length);
    if (raw.length < length) break;
    const opcode = bytes[at]! & 0x0f;
    const type = (Object.keys(OPCODES) as ClientFrame['type'][]).find((each) => OPCODES[each] === opcode);
    const payload = Buffer.from(raw.map((byte, index) => byte ^ bytes[maskAt + (index & 3)]!));
    frames.push({ type: type as ClientFrame['type'], payload, raw, masked: (bytes[at + 1]! & 0x80) !== 0 });
    at = maskAt + 4 + length;
  }
  return frames;
}
