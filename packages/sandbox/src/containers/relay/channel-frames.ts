/**
 * How many connections share one stream: each frame says which channel it is about and what happens there. A frame is a
 * byte for its type, four for the channel, four for a number, and the bytes of `data`, whose count that number is.
 *
 *   open     the channel begins
 *   data     bytes of the channel, at most as many as the other side has room for
 *   end      no more data from this side
 *   close    the channel is over, even with data in transit
 *   credit   the other side may send this many bytes more
 */
const TYPES = ['open', 'data', 'end', 'close', 'credit'] as const;
const HEADER_BYTES = 9;

/** So that no channel holds the stream for long. */
export const MAX_DATA_BYTES = 64 * 1024;

export interface ChannelFrame {
  type: (typeof TYPES)[number];
  channel: number;
  /** Only for `credit`. */
  count: number;
  /** Only for `data`. */
  bytes: Buffer;
}

const NOTHING = Buffer.alloc(0);

export function encodeFrame(
  type: ChannelFrame['type'],
  channel: number,
  content: Buffer | number = 0,
): Buffer {
  const bytes = typeof content === 'number' ? NOTHING : content;
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(TYPES.indexOf(type));
  header.writeUInt32BE(channel, 1);
  header.writeUInt32BE(typeof content === 'number' ? content : content.length, 5);
  return bytes.length === 0 ? header : Buffer.concat([header, bytes]);
}

/** Takes bytes as they come, however they were cut. */
export class FrameParser {
  #rest: Buffer = NOTHING;

  /** Throws if the bytes are not frames. */
  *parse(chunk: Buffer): Generator<ChannelFrame, void> {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let frame = firstFrame(rest); frame; frame = firstFrame(rest)) {
      rest = rest.subarray(HEADER_BYTES + frame.bytes.length);
      yield frame;
    }
    this.#rest = rest;
  }
}

function firstFrame(bytes: Buffer): ChannelFrame | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const type = TYPES[bytes.readUInt8()];
  const channel = bytes.readUInt32BE(1);
  const count = bytes.readUInt32BE(5);
  if (type === undefined || (type === 'data' && count > MAX_DATA_BYTES))
    throw new Error('expected a frame from the relay, got other bytes');
  if (type !== 'data') return { type, channel, count, bytes: NOTHING };
  const end = HEADER_BYTES + count;
  return bytes.length < end ? undefined : { type, channel, count, bytes: bytes.subarray(HEADER_BYTES, end) };
}
