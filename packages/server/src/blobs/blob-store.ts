/**
 * The contract of the store of bytes: contents of files and checkpoints, found by an id. One suite (`blob-store.contract.ts`)
 * tests it, and every driver passes that suite.
 *
 * Invariants
 * - A blob is whole or not there. When `write` resolves, the blob is durable: it survives the death of the process and of the
 *   machine. When `write` rejects, or its process dies, no reader ever finds a part of it.
 * - A blob never changes. The store makes its id, at random, and never uses it again.
 * - The store does not know who needs a blob. The journal does (`../journal/contents.ts`), and it decides what `remove` gets.
 * - Bytes pass through in pieces: neither writing nor reading holds all of them in memory. The caller of `write` leaves a piece
 *   unchanged once it has handed it over.
 */

export interface WrittenBlob {
  blobId: string;
  size: number;
  /** In hex. */
  sha256: string;
  /** When it was whole, by the store's clock, in ms. */
  writtenAt: number;
}

export interface ListedBlob {
  blobId: string;
  /** For a blob that is not whole, a time at which it was worked on. */
  writtenAt: number;
}

/** The bytes from `start` up to but not including `end`. */
export interface BlobRange {
  start: number;
  end: number;
}

export interface BlobAccess {
  /**
   * What to do if the store is away: `wait` for as long as it takes (the default), as the work on runs does, or `refuse` after a
   * few seconds with `store_unavailable`, because a client waits.
   */
  whileAway?: 'wait' | 'refuse' | undefined;
}

export interface BlobWrite extends BlobAccess {
  /** More bytes reject with `BlobTooLargeError`. */
  maxBytes?: number | undefined;
  /** Rejects with its reason, also while the next piece is waited for. */
  signal?: AbortSignal | undefined;
}

export interface BlobStore {
  write(bytes: AsyncIterable<Uint8Array>, options?: BlobWrite): Promise<WrittenBlob>;
  /**
   * Rejects with `BlobGoneError` if there is no such blob, also half-way if it is removed meanwhile: what was read until then
   * is right. Rejects with a `RangeError` if the range ends behind the blob.
   */
  read(blobId: string, range?: BlobRange, access?: BlobAccess): AsyncIterable<Uint8Array>;
  /** Also what is left of blobs that never became whole. Ignores ids that do not exist. */
  remove(blobIds: readonly string[]): Promise<void>;
  /** In the order of their ids, those after `after`; also what is left of blobs that never became whole. */
  list(after: string | undefined, limit: number): Promise<ListedBlob[]>;
}

export class BlobTooLargeError extends Error {
  override readonly name = 'BlobTooLargeError';
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`The contents are larger than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

export class BlobGoneError extends Error {
  override readonly name = 'BlobGoneError';
  readonly blobId: string;

  constructor(blobId: string, cause?: unknown) {
    super(`The contents ${blobId} do not exist (any more)`, { cause });
    this.blobId = blobId;
  }
}
