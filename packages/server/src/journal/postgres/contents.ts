/**
 * The part of the Postgres driver that keeps references to blobs. Functions that take a transaction are part of a larger one.
 *
 * A reference that a new one is taken from is locked (`FOR KEY SHARE`) until the new one is committed. Whoever drops it waits,
 * and then sees the new one, because each statement sees what was committed before it began. If it was dropped first, it is
 * not found.
 */
import {
  BLOB_GRACE_MS,
  type Contents,
  expectRecent,
  type HeldBlob,
  type Holder,
  holderGone,
  type NewBlob,
  type SharedBlob,
} from '../contents.ts';
import { ASKED, type Database, NOW, type Transaction, WORK } from './database.ts';

/** Throws unless a holder may refer to these blobs from now until the end of the transaction. */
export async function lockBlobs(tx: Transaction, blobs: readonly HeldBlob[]): Promise<void> {
  for (const blob of blobs) if (!('from' in blob)) expectRecent(blob, tx.now);
  await lockShared(
    tx,
    blobs.filter((blob) => 'from' in blob),
  );
}

/** After `lockBlobs`. */
export function addReferences(tx: Transaction, holder: Holder, blobs: readonly { blobId: string }[]): void {
  if (blobs.length === 0) return;
  tx.send('INSERT INTO blob_refs (holder, blob_id) SELECT $1, unnest ($2::text[]) ON CONFLICT DO NOTHING', [
    holder,
    blobs.map(({ blobId }) => blobId),
  ]);
}

/** Drops the references of these holders; returns the blobs that nobody needs any more. */
export async function dropHolders(tx: Transaction, holders: readonly Holder[]): Promise<string[]> {
  if (holders.length === 0) return [];
  return unheld(
    tx,
    await tx.rows<BlobRow>('DELETE FROM blob_refs WHERE holder = ANY ($1::text[]) RETURNING blob_id', [
      holders,
    ]),
  );
}

export class PostgresContents implements Contents {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  hold(holder: Holder, blobs: readonly HeldBlob[]): Promise<void> {
    return this.#database.transaction(WORK, async (tx) => {
      await lockBlobs(tx, blobs);
      addReferences(tx, holder, blobs);
    });
  }

  async heldBy(holder: Holder): Promise<string[]> {
    const rows = await this.#database.rows<BlobRow>(
      ASKED,
      'SELECT blob_id FROM blob_refs WHERE holder = $1 ORDER BY blob_id',
      [holder],
    );
    return rows.map((row) => row.blob_id);
  }

  drop(holder: Holder, blobIds?: readonly string[]): Promise<string[]> {
    return this.#database.transaction(ASKED, async (tx) => {
      if (blobIds === undefined) return dropHolders(tx, [holder]);
      const dropped = await tx.rows<BlobRow>(
        'DELETE FROM blob_refs WHERE holder = $1 AND blob_id = ANY ($2::text[]) RETURNING blob_id',
        [holder, blobIds],
      );
      return unheld(tx, dropped);
    });
  }

  async unneeded(blobs: readonly NewBlob[], graceMs = BLOB_GRACE_MS): Promise<string[]> {
    const rows = await this.#database.rowsByClock<BlobRow>(
      ASKED,
      `SELECT blob_id FROM unnest ($2::text[], $3::bigint[]) AS b (blob_id, written_at)
        WHERE written_at <= ${NOW} - $4 AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob_id = b.blob_id)`,
      [blobs.map(({ blobId }) => blobId), blobs.map(({ writtenAt }) => writtenAt), graceMs],
    );
    return rows.map((row) => row.blob_id);
  }
}

interface BlobRow {
  blob_id: string;
}

async function lockShared(tx: Transaction, blobs: readonly SharedBlob[]): Promise<void> {
  if (blobs.length === 0) return;
  const rows = await tx.rows<BlobRow & { holder: string }>(
    `SELECT holder, blob_id FROM blob_refs
      WHERE (holder, blob_id) IN (SELECT * FROM unnest ($1::text[], $2::text[]))
      ORDER BY holder, blob_id FOR KEY SHARE`,
    [blobs.map(({ from }) => from), blobs.map(({ blobId }) => blobId)],
  );
  const held = new Set(rows.map((row) => `${row.holder} ${row.blob_id}`));
  const missing = blobs.find(({ from, blobId }) => !held.has(`${from} ${blobId}`));
  if (missing !== undefined) throw holderGone(missing.from);
}

/** In a statement of its own: only so it sees what was committed while the one before waited for a lock. */
async function unheld(tx: Transaction, dropped: readonly BlobRow[]): Promise<string[]> {
  if (dropped.length === 0) return [];
  const rows = await tx.rows<BlobRow>(
    `SELECT DISTINCT blob_id FROM unnest ($1::text[]) AS d (blob_id)
      WHERE NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob_id = d.blob_id)`,
    [dropped.map((row) => row.blob_id)],
  );
  return rows.map((row) => row.blob_id);
}
