/**
 * The blobs of a store whose journal keeps the small ones itself (`../journal/contents.ts`): each blob is in one of two places. The
 * journal writes the small ones; whatever is written here is large.
 */
import type { BlobAccess, BlobRange, BlobStore, BlobWrite, ListedBlob, WrittenBlob } from './blob-store.ts';

/** Access to the small blobs that a journal keeps. */
export interface SmallBlobs {
  /** Undefined if it has none with this id. */
  find(blobId: string): Promise<Uint8Array | undefined>;
  /** As in `BlobStore`. */
  remove(blobIds: readonly string[]): Promise<void>;
  /** As in `BlobStore`. */
  list(after: string | undefined, limit: number): Promise<ListedBlob[]>;
}

export class SmallBlobsFirst implements BlobStore {
  readonly #small: SmallBlobs;
  readonly #large: BlobStore;

  constructor(small: SmallBlobs, large: BlobStore) {
    this.#small = small;
    this.#large = large;
  }

  write(bytes: AsyncIterable<Uint8Array>, options?: BlobWrite): Promise<WrittenBlob> {
    return this.#large.write(bytes, options);
  }

  read(blobId: string, range?: BlobRange, access?: BlobAccess): AsyncIterable<Uint8Array> {
    return readSmallFirst(this.#small, this.#large, blobId, range, access);
  }

  async remove(blobIds: readonly string[]): Promise<void> {
    await Promise.all([this.#small.remove(blobIds), this.#large.remove(blobIds)]);
  }

  async list(after: string | undefined, limit: number): Promise<ListedBlob[]> {
    const found = await Promise.all([this.#small.list(after, limit), this.#large.list(after, limit)]);
    return found
      .flat()
      .sort((a, b) => (a.blobId < b.blobId ? -1 : 1))
      .slice(0, limit);
  }
}

export async function* readSmallFirst(
  small: Pick<SmallBlobs, 'find'>,
  large: Pick<BlobStore, 'read'>,
  blobId: string,
  range?: BlobRange,
  access?: BlobAccess,
): AsyncGenerator<Uint8Array, void> {
  const bytes = await small.find(blobId);
  if (bytes === undefined) return yield* large.read(blobId, range, access);
  const { start, end } = range ?? { start: 0, end: bytes.length };
  if (end > bytes.length) {
    throw new RangeError(`The range ends at ${end}, and the contents ${blobId} at ${bytes.length}`);
  }
  if (end > start) yield bytes.subarray(start, end);
}
