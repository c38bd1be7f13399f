/** Reads a stream piece by piece: this many bytes at once, or this many as they come. */
import { ArchiveError } from './archive-entry.ts';

const NOTHING = Buffer.alloc(0);

export class ByteStream {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Buffer = NOTHING;
  /** How many bytes are left of the part that was begun. */
  #left = 0;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#chunks = bytes[Symbol.asyncIterator]();
  }

  /** The next few bytes, joined in memory; undefined if the stream has ended before the first of them. */
  async take(count: number): Promise<Buffer | undefined> {
    const pieces: Buffer[] = [];
    for (let left = count; left > 0; ) {
      const piece = await this.#piece(left);
      if (piece === undefined) {
        if (pieces.length === 0) return undefined;
        throw cutOff();
      }
      pieces.push(piece);
      left -= piece.length;
    }
    return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
  }

  /** The next `count` bytes, as they come. */
  async *part(count: number): AsyncGenerator<Buffer, void> {
    this.#left = count;
    while (this.#left > 0) {
      const piece = await this.#piece(this.#left);
      if (piece === undefined) throw cutOff();
      this.#left -= piece.length;
      yield piece;
    }
  }

  async skip(count: number): Promise<void> {
    for await (const _ of this.part(count));
  }

  /** Reads to the end of the stream, which may fail only there, for example with a wrong checksum. */
  async drain(): Promise<void> {
    while ((await this.#piece(Number.MAX_SAFE_INTEGER)) !== undefined);
  }

  async #piece(max: number): Promise<Buffer | undefined> {
    while (this.#chunk.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done) return undefined;
      this.#chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const piece = this.#chunk.subarray(0, max);
    this.#chunk = this.#chunk.subarray(piece.length);
    return piece;
  }
}

function cutOff(): ArchiveError {
  return new ArchiveError('it ends in the middle of an entry');
}
