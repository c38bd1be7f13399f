/** The part of the SQLite driver that keeps small blobs: rows of the database, beside the directory of the large ones. */
import type { ListedBlob } from '../../blobs/blob-store.ts';
import type { SmallBlobs } from '../../blobs/small-blobs-first.ts';
import type { SmallBlob } from '../contents.ts';
import type { Statements } from './statements.ts';
import type { WriterClient } from './writer-client.ts';

/** Called by name as `smallBlobs.remove`; the writer adds blobs with the records that refer to them. */
export class SmallBlobsWriter {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  add({ blobId, bytes }: SmallBlob, now: number): void {
    this.#statement('INSERT INTO small_blobs (blob_id, written_at, bytes) VALUES (?, ?, ?)').run(
      blobId,
      now,
      bytes,
    );
  }

  remove(blobIds: readonly string[]): void {
    const remove = this.#statement('DELETE FROM small_blobs WHERE blob_id = ?');
    for (const blobId of blobIds) remove.run(blobId);
  }
}

export class SmallBlobsReader {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  async find(blobId: string): Promise<Uint8Array | undefined> {
    return this.#statement('SELECT bytes FROM small_blobs WHERE blob_id = ?').get<{ bytes: Uint8Array }>(
      blobId,
    )?.bytes;
  }

  list(after: string | undefined, limit: number): ListedBlob[] {
    return this.#statement(
      'SELECT blob_id, written_at FROM small_blobs WHERE blob_id > ? ORDER BY blob_id LIMIT ?',
    )
      .all<{ blob_id: string; written_at: number }>(after ?? '', limit)
      .map((row) => ({ blobId: row.blob_id, writtenAt: row.written_at }));
  }
}

export class SqliteSmallBlobs implements SmallBlobs {
  readonly #writer: WriterClient;
  readonly #reader: SmallBlobsReader;

  constructor(writer: WriterClient, reader: SmallBlobsReader) {
    this.#writer = writer;
    this.#reader = reader;
  }

  find(blobId: string): Promise<Uint8Array | undefined> {
    return this.#reader.find(blobId);
  }

  async remove(blobIds: readonly string[]): Promise<void> {
    if (blobIds.length > 0) await this.#writer.write.smallBlobs.remove(blobIds);
  }

  async list(after: string | undefined, limit: number): Promise<ListedBlob[]> {
    return this.#reader.list(after, limit);
  }
}
