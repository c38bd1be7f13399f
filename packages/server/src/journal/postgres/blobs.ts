/**
 * Blobs in the tables of a Postgres store, in chunks of a megabyte.
 *
 *   row without a size ── chunk by chunk, each a transaction ──▶ the row gets its size: the blob is whole ── remove ──▶ size -1
 *
 * A small blob that comes with records (`../contents.ts`) is whole from the first, in their transaction.
 *
 * Readers find only rows with a size, and writers continue only rows without one. A blob of one chunk is written in one transaction. The row without a size is there for the
 * sweep, because its writer may die. Chunks are added only while the row exists, and go before it, so none is ever left alone.
 */

import { AtATime } from '../../basics/at-a-time.ts';
import { failpoint } from '../../basics/failpoints.ts';
import { createBlobId } from '../../blobs/blob-ids.ts';
import {
  type BlobAccess,
  BlobGoneError,
  type BlobRange,
  type BlobStore,
  type BlobWrite,
  type ListedBlob,
  type WrittenBlob,
} from '../../blobs/blob-store.ts';
import { MeasuredBytes } from '../../blobs/measured-bytes.ts';
import type { SmallBlob } from '../contents.ts';
import { ASKED, type Database, type Patience, type Transaction, WORK } from './database.ts';

/** How much is in memory at a time, and the most that one statement carries. */
const CHUNK_BYTES = 1024 * 1024;
/** Over all blobs: the other connections are for small, urgent work such as leases. */
const CHUNKS_AT_ONCE = 2;
/** How much one transaction deletes. */
const CHUNKS_PER_REMOVAL = 64;
/** The size of a blob that is being removed. */
const REMOVED = -1;

export class PostgresBlobs implements BlobStore {
  readonly #database: Database;
  readonly #chunks = new AtATime(CHUNKS_AT_ONCE);

  constructor(database: Database) {
    this.#database = database;
  }

  async write(bytes: AsyncIterable<Uint8Array>, options: BlobWrite = {}): Promise<WrittenBlob> {
    return this.#write(createBlobId(), bytes, options);
  }

  /** Whether it is there as a whole. */
  async has(blobId: string): Promise<boolean> {
    return (await this.#sizeOf(WORK, blobId)) !== undefined;
  }

  /** For a blob of another store that keeps its id; replaces what is there. */
  async put(blobId: string, bytes: AsyncIterable<Uint8Array>): Promise<WrittenBlob> {
    await this.remove([blobId]);
    return this.#write(blobId, bytes, {});
  }

  async #write(blobId: string, bytes: AsyncIterable<Uint8Array>, options: BlobWrite): Promise<WrittenBlob> {
    options.signal?.throwIfAborted();
    const measured = new MeasuredBytes(bytes, options);
    const patience = patienceOf(options);
    let count = 0;
    try {
      for await (const { chunk, isLast } of chunksOf(measured)) {
        options.signal?.throwIfAborted();
        const [n, size] = [count++, isLast ? measured.size : undefined];
        const writtenAt = await this.#chunks.run(() => this.#add(patience, { blobId, n, chunk, size }));
        if (writtenAt === undefined) continue;
        failpoint('blob.after-whole');
        return { blobId, size: measured.size, sha256: measured.sha256(), writtenAt };
      }
      throw new Error('The last chunk is missing');
    } catch (error) {
      if (count > 0) await this.remove([blobId]).catch(() => {});
      throw error;
    }
  }

  async *read(blobId: string, range?: BlobRange, access: BlobAccess = {}): AsyncGenerator<Uint8Array, void> {
    const patience = patienceOf(access);
    const size = await this.#sizeOf(patience, blobId);
    if (size === undefined) throw new BlobGoneError(blobId);
    const { start, end } = range ?? { start: 0, end: size };
    if (end > size) throw new RangeError(`The range ends at ${end}, and the contents ${blobId} at ${size}`);
    for (let at = start; at < end; ) {
      const [n, from] = [Math.floor(at / CHUNK_BYTES), at % CHUNK_BYTES];
      const length = Math.min(CHUNK_BYTES - from, end - at);
      const [chunk] = await this.#chunks.run(() =>
        this.#database.rows<{ bytes: Uint8Array }>(
          patience,
          'SELECT substring(bytes FROM $3 FOR $4) AS bytes FROM blob_chunks WHERE blob_id = $1 AND n = $2',
          [blobId, n, from + 1, length],
        ),
      );
      if (chunk?.bytes.length !== length) throw new BlobGoneError(blobId);
      at += length;
      yield chunk.bytes;
    }
  }

  async remove(blobIds: readonly string[]): Promise<void> {
    if (blobIds.length === 0) return;
    for (let removed = CHUNKS_PER_REMOVAL; removed === CHUNKS_PER_REMOVAL; ) {
      removed = await this.#database.transaction(ASKED, async (tx) => {
        // From the first moment on, nobody reads it and nobody adds to it.
        await tx.rows('SELECT 1 FROM blobs WHERE blob_id = ANY ($1::text[]) ORDER BY blob_id FOR UPDATE', [
          blobIds,
        ]);
        tx.send('UPDATE blobs SET size = $2 WHERE blob_id = ANY ($1::text[])', [blobIds, REMOVED]);
        const chunks = await tx.rows(
          `DELETE FROM blob_chunks WHERE (blob_id, n) IN
             (SELECT blob_id, n FROM blob_chunks WHERE blob_id = ANY ($1::text[]) LIMIT $2) RETURNING 1`,
          [blobIds, CHUNKS_PER_REMOVAL],
        );
        if (chunks.length < CHUNKS_PER_REMOVAL) {
          tx.send('DELETE FROM blobs WHERE blob_id = ANY ($1::text[])', [blobIds]);
        }
        return chunks.length;
      });
    }
  }

  async list(after: string | undefined, limit: number): Promise<ListedBlob[]> {
    const rows = await this.#database.rows<{ blob_id: string; written_at: number }>(
      ASKED,
      'SELECT blob_id, written_at FROM blobs WHERE blob_id > $1 ORDER BY blob_id LIMIT $2',
      [after ?? '', limit],
    );
    return rows.map((row) => ({ blobId: row.blob_id, writtenAt: row.written_at }));
  }

  /** Undefined unless the blob is whole. */
  async #sizeOf(patience: Patience, blobId: string): Promise<number | undefined> {
    const [row] = await this.#database.rows<{ size: number }>(
      patience,
      'SELECT size FROM blobs WHERE blob_id = $1 AND size >= 0',
      [blobId],
    );
    return row?.size;
  }

  /** With the size it is the last chunk; then returns the time from which on the blob is whole. */
  #add(patience: Patience, added: AddedChunk): Promise<number | undefined> {
    return this.#database.transaction(patience, async (tx) => {
      await begin(tx, added);
      if (added.chunk.length > 0) {
        tx.send('INSERT INTO blob_chunks (blob_id, n, bytes) VALUES ($1, $2, $3)', [
          added.blobId,
          added.n,
          added.chunk,
        ]);
      }
      if (added.size === undefined) return undefined;
      tx.send('UPDATE blobs SET size = $2, written_at = $3 WHERE blob_id = $1', [
        added.blobId,
        added.size,
        tx.now,
      ]);
      failpoint('blob.before-whole');
      return tx.now;
    });
  }
}

export function addSmallBlob(tx: Transaction, { blobId, bytes }: SmallBlob): void {
  tx.send('INSERT INTO blobs (blob_id, size, written_at) VALUES ($1, $2, $3)', [
    blobId,
    bytes.length,
    tx.now,
  ]);
  tx.send('INSERT INTO blob_chunks (blob_id, n, bytes) VALUES ($1, 0, $2)', [blobId, bytes]);
}

interface AddedChunk {
  blobId: string;
  n: number;
  chunk: Uint8Array;
  size: number | undefined;
}

/** The row of the blob: made with its first chunk, and held until the transaction is over. */
async function begin(tx: Transaction, { blobId, n }: AddedChunk): Promise<void> {
  if (n === 0) {
    tx.send('INSERT INTO blobs (blob_id, written_at) VALUES ($1, $2)', [blobId, tx.now]);
    return;
  }
  const [row] = await tx.rows('SELECT 1 FROM blobs WHERE blob_id = $1 AND size IS NULL FOR NO KEY UPDATE', [
    blobId,
  ]);
  if (row === undefined) throw new BlobGoneError(blobId);
}

function patienceOf({ whileAway }: BlobAccess): Patience {
  return whileAway === 'refuse' ? ASKED : WORK;
}

/** Exactly `CHUNK_BYTES` each, except the last one, which may be empty. */
async function* chunksOf(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ chunk: Uint8Array; isLast: boolean }, void> {
  let pieces: Uint8Array[] = [];
  let size = 0;
  for await (let piece of bytes) {
    while (size + piece.length > CHUNK_BYTES) {
      const room = CHUNK_BYTES - size;
      yield { chunk: Buffer.concat([...pieces, piece.subarray(0, room)]), isLast: false };
      piece = piece.subarray(room);
      [pieces, size] = [[], 0];
    }
    pieces.push(piece);
    size += piece.length;
  }
  yield { chunk: Buffer.concat(pieces), isLast: true };
}
