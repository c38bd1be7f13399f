/**
 * Counts the bytes of files that are being uploaded, for each owner. They count against the owner's limit before the file is
 * there: otherwise uploads that never end, many at the same time, would fill the disk.
 */
export class ArrivingBytes {
  readonly #byOwner = new Map<string, number>();

  /** The same bytes. `expectRoom` throws if there is no room for all of the owner's bytes that are on their way. */
  async *count(
    owner: string,
    bytes: AsyncIterable<Uint8Array>,
    expectRoom: (arriving: number) => void,
  ): AsyncGenerator<Uint8Array, void> {
    let own = 0;
    try {
      for await (const piece of bytes) {
        own += piece.length;
        expectRoom(this.#change(owner, piece.length));
        yield piece;
      }
    } finally {
      this.#change(owner, -own);
    }
  }

  #change(owner: string, by: number): number {
    const arriving = (this.#byOwner.get(owner) ?? 0) + by;
    if (arriving === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, arriving);
    return arriving;
  }
}
