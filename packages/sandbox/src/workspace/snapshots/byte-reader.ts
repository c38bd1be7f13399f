export class StreamEndedError extends Error {}

/** Reads bytes from a stream: this many at once, or this many piece by piece. Fewer is an error. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Buffer = Buffer.alloc(0);
  /** The unread rest of what was begun. */
  #left = 0;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#chunks = bytes[Symbol.asyncIterator]();
  }

  /** For a few bytes: they are joined in memory. */
  async take(count: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let left = count; left > 0; left -= pieces.at(-1)!.length) pieces.push(await this.#piece(left));
    return Buffer.concat(pieces);
  }

  /** The next `count` bytes are those of `rest`. */
  begin(count: number): void {
    this.#left = count;
  }

  async *rest(): AsyncGenerator<Buffer, void> {
    while (this.#left > 0) {
      const piece = await this.#piece(this.#left);
      this.#left -= piece.length;
      yield piece;
    }
  }

  async skipRest(): Promise<void> {
    for await (const _ of this.rest());
  }

  async #piece(max: number): Promise<Buffer> {
    while (this.#chunk.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done) throw new StreamEndedError('The stream ended too early');
      this.#chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const piece = this.#chunk.subarray(0, max);
    this.#chunk = this.#chunk.subarray(piece.length);
    return piece;
  }
}
