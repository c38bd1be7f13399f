/** The part of the SQLite driver that keeps references to blobs. One writer makes every change, so none comes in between. */
import {
  BLOB_GRACE_MS,
  type Contents,
  expectRecent,
  type HeldBlob,
  type Holder,
  holderGone,
  type NewBlob,
  type SmallBlob,
} from '../contents.ts';
import type { SmallBlobsWriter } from './sqlite-small-blobs.ts';
import type { Statements } from './statements.ts';
import type { WriterClient } from './writer-client.ts';

/** Called by name as `contents.<operation>`, and by the other writers as part of their operations. */
export class ContentsWriter {
  readonly #statement: Statements;
  readonly #smallBlobs: SmallBlobsWriter;

  constructor(statement: Statements, smallBlobs: SmallBlobsWriter) {
    this.#statement = statement;
    this.#smallBlobs = smallBlobs;
  }

  /** Stores those that come with their bytes. */
  holdNew(holder: Holder, blobs: readonly (NewBlob | SmallBlob)[], now: number): void {
    const stored = blobs.map((blob): NewBlob => {
      if (!('bytes' in blob)) return blob;
      this.#smallBlobs.add(blob, now);
      return { blobId: blob.blobId, writtenAt: now };
    });
    this.hold(holder, stored, now);
  }

  hold(holder: Holder, blobs: readonly HeldBlob[], now: number): void {
    for (const blob of blobs) {
      if ('from' in blob) this.#expectHeld(blob.from, blob.blobId);
      else expectRecent(blob, now);
      this.#statement('INSERT OR IGNORE INTO blob_refs (holder, blob_id) VALUES (?, ?)').run(
        holder,
        blob.blobId,
      );
    }
  }

  drop(holder: Holder, blobIds?: readonly string[]): string[] {
    const dropped = blobIds ?? heldBy(this.#statement, holder);
    const remove = this.#statement('DELETE FROM blob_refs WHERE holder = ? AND blob_id = ?');
    return dropped.filter(
      (blobId) => remove.run(holder, blobId).changes > 0 && !isHeld(this.#statement, blobId),
    );
  }

  heldBy(holder: Holder): string[] {
    return heldBy(this.#statement, holder);
  }

  /** Adds all references of one holder to another. */
  share(from: Holder, holder: Holder): void {
    this.#statement(
      'INSERT OR IGNORE INTO blob_refs (holder, blob_id) SELECT ?, blob_id FROM blob_refs WHERE holder = ?',
    ).run(holder, from);
  }

  #expectHeld(from: Holder, blobId: string): void {
    const held = this.#statement('SELECT 1 FROM blob_refs WHERE holder = ? AND blob_id = ?').get(
      from,
      blobId,
    );
    if (held === undefined) throw holderGone(from);
  }
}

export class ContentsReader {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  heldBy(holder: Holder): string[] {
    return heldBy(this.#statement, holder);
  }

  /** A blob that nobody needs is never needed again, so the answer stays true. */
  unneeded(blobs: readonly NewBlob[], before: number): string[] {
    return blobs
      .filter(({ blobId, writtenAt }) => writtenAt <= before && !isHeld(this.#statement, blobId))
      .map(({ blobId }) => blobId);
  }
}

export class SqliteContents implements Contents {
  readonly #writer: WriterClient;
  readonly #reader: ContentsReader;
  readonly #now: () => number;

  constructor(writer: WriterClient, reader: ContentsReader, now: () => number) {
    this.#writer = writer;
    this.#reader = reader;
    this.#now = now;
  }

  hold(holder: Holder, blobs: readonly HeldBlob[]): Promise<void> {
    return this.#writer.write.contents.hold(holder, blobs);
  }

  async heldBy(holder: Holder): Promise<string[]> {
    return this.#reader.heldBy(holder);
  }

  drop(holder: Holder, blobIds?: readonly string[]): Promise<string[]> {
    return this.#writer.write.contents.drop(holder, blobIds);
  }

  async unneeded(blobs: readonly NewBlob[], graceMs = BLOB_GRACE_MS): Promise<string[]> {
    return this.#reader.unneeded(blobs, this.#now() - graceMs);
  }
}

function heldBy(statement: Statements, holder: Holder): string[] {
  return statement('SELECT blob_id FROM blob_refs WHERE holder = ? ORDER BY blob_id')
    .all<{ blob_id: string }>(holder)
    .map((row) => row.blob_id);
}

function isHeld(statement: Statements, blobId: string): boolean {
  return statement('SELECT 1 FROM blob_refs WHERE blob_id = ? LIMIT 1').get(blobId) !== undefined;
}
