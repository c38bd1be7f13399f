/**
 * Reads bytes from chunks that the caller brings: a generator of this file yields `WANTED`, and the caller continues it with
 * the next chunk, or with undefined after the last one. Like byte-reader.ts, but for work that blocks.
 */
import { StreamEndedError } from './byte-reader.ts';

export const WANTED = 'wanted';

/** Yields undefined whenever its thread may do something else. */
export type Reading<T> = Generator<typeof WANTED | undefined, T, Uint8Array | undefined>;

export class ChunkReader {
  #chunk: Buffer = Buffer.alloc(0);

  /** For a few bytes: they are joined in memory. */
  *take(count: number): Reading<Buffer> {
    if (this.#chunk.length >= count) return this.#cut(count);
    const pieces: Buffer[] = [];
    for (let left = count; left > 0; left -= pieces.at(-1)!.length) pieces.push(yield* this.piece(left));
    return Buffer.concat(pieces);
  }

  /** At least one byte and at most this many. */
  *piece(max: number): Reading<Buffer> {
    while (this.#chunk.length === 0) {
      const chunk = yield WANTED;
      if (chunk === undefined) throw new StreamEndedError('The stream ended too early');
      this.#chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    }
    return this.#cut(Math.min(max, this.#chunk.length));
  }

  #cut(count: number): Buffer {
    const piece = this.#chunk.subarray(0, count);
    this.#chunk = this.#chunk.subarray(count);
    return piece;
  }
}
