/**
 * JSON values over a byte stream, one per line. Both ends distrust each other: a line over the limit or one that is not
 * JSON is an error, and never takes more memory than the limit.
 */
import type { Readable, Writable } from 'node:stream';

const NEWLINE = 0x0a;

/** The other side violates the protocol. */
export class ProtocolError extends Error {}

export async function* readFrames(stream: Readable, maxBytes: number): AsyncGenerator<unknown, void> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      if (length + end > maxBytes) throw tooLarge(maxBytes);
      yield parseFrame(Buffer.concat([...parts, rest.subarray(0, end)]));
      parts = [];
      length = 0;
      rest = rest.subarray(end + 1);
    }
    length += rest.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    if (rest.length > 0) parts.push(rest);
  }
}

/** Resolves when the stream accepts more, or is closed; a failed write shows as a missing answer. */
export async function writeFrame(stream: Writable, frame: object): Promise<void> {
  if (stream.destroyed || stream.write(`${JSON.stringify(frame)}\n`)) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}

function parseFrame(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    throw new ProtocolError('a line is not JSON');
  }
}

function tooLarge(maxBytes: number): ProtocolError {
  return new ProtocolError(`a line is over ${maxBytes} bytes`);
}
