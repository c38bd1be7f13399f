/**
 * References of holders to blobs (`../blobs/blob-store.ts`): they say who needs which blob.
 *
 * Invariants
 * - A blob is needed while a holder refers to it. A new one, which nobody has referred to yet, is needed for `BLOB_GRACE_MS` after
 *   it was written: time for its writer to refer to it. Nothing else keeps a blob.
 * - A blob that is not needed can never be needed again. So a process that finds one may remove it at any later time, and no
 *   reference can come in between. This holds because a reference to a blob is added only
 *   - by its writer, as the first one, in the first half of the grace time,
 *   - by the transaction that stores the blob itself (`SmallBlob`), or
 *   - by a transaction that holds another reference to it, so that the other one is not dropped before the new one is there.
 * - References of a holder are dropped with the holder: those of a run by its eviction, those of a session when it is deleted, or
 *   replaced when another of its runs ends.
 * - Dropping references returns the blobs that nobody needs any more, and the caller removes their bytes. It may miss some (the
 *   process dies before, two holders are dropped at once). The sweep finds those: `unneeded`.
 */
import { TalariaError } from '@talaria/protocol';

export const BLOB_GRACE_MS = 24 * 3600 * 1000;
/** The first reference must come in the first half of the grace time. The other half allows for clocks that differ. */
export const FIRST_REFERENCE_MS = BLOB_GRACE_MS / 2;

export type Holder = `run:${string}` | `file:${string}` | `session:${string}`;

export function runHolder(runId: string): Holder {
  return `run:${runId}`;
}

/** The same name under another owner is another session. */
export function sessionHolder(owner: string, sessionId: string): Holder {
  return `session:${JSON.stringify([owner, sessionId])}`;
}

/** A blob that its writer refers to for the first time. */
export interface NewBlob {
  blobId: string;
  /** As `write` returned it. */
  writtenAt: number;
}

/**
 * A small blob that comes with the records that need it. The transaction that appends them stores the bytes, too, so they cost no
 * wait of their own, and they are never there without a reference. From then on the `BlobStore` of the journal has the blob.
 */
export interface SmallBlob {
  blobId: string;
  bytes: Uint8Array;
}

/** A few steps of a run: what a journal can carry without delaying others. */
export const MAX_SMALL_BLOB_BYTES = 128 * 1024;

/** A blob that is taken from a holder that keeps it. */
export interface SharedBlob {
  blobId: string;
  from: Holder;
}

export type HeldBlob = NewBlob | SharedBlob;

export interface Contents {
  /**
   * Adds references, all or none. Rejects if one of the blobs is not held by the holder it is taken from, or was written too
   * long ago (`store_unavailable`: write it again).
   */
  hold(holder: Holder, blobs: readonly HeldBlob[]): Promise<void>;
  /** The blobs of a holder, in the order of their ids. */
  heldBy(holder: Holder): Promise<string[]>;
  /** Drops the references of a holder, or only those to these blobs; returns the blobs that nobody needs any more. */
  drop(holder: Holder, blobIds?: readonly string[]): Promise<string[]>;
  /** Returns which of these blobs nobody needs, by the store's clock. */
  unneeded(blobs: readonly NewBlob[], graceMs?: number): Promise<string[]>;
}

/** Throws if the writer of the blob has waited too long. */
export function expectRecent({ writtenAt }: NewBlob, now: number): void {
  if (now - writtenAt <= FIRST_REFERENCE_MS) return;
  throw new TalariaError('store_unavailable', {
    message: 'The contents were written too long ago to be used now; write them again',
  });
}

/** The blob is not held by the holder it is taken from: the holder is gone. */
export function holderGone(from: Holder): TalariaError {
  const at = from.indexOf(':');
  const id = from.slice(at + 1);
  switch (from.slice(0, at)) {
    case 'file':
      return new TalariaError('file_not_found', { message: `File not found: ${id}` });
    case 'session':
      return new TalariaError('session_not_found');
    default:
      return new TalariaError('run_not_found', { message: `Run not found: ${id}` });
  }
}
