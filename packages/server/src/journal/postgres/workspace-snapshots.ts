/**
 * The part of the Postgres driver that keeps snapshots of workspaces.
 *
 *   chunk by chunk, each a transaction ──▶ switch: the row names the new chunks, the old ones go
 *
 * Chunks that no row names belong to no snapshot: a server died while it stored them, or lost the run. The next switch
 * deletes them, or the end of the run. Chunks lock the row of the run, so that none is added to a deleted run.
 */
import { randomUUID } from 'node:crypto';
import { failpoint } from '../../basics/failpoints.ts';
import { type Lease, LeaseLostError } from '../journal.ts';
import type { StoredSnapshot, WorkspaceSnapshots } from '../workspace-snapshots.ts';
import { AtATime } from './at-a-time.ts';
import { ASKED, type Database, type Transaction, WORK } from './database.ts';

/** How much is in memory at a time, and the most that one statement carries. */
const CHUNK_BYTES = 1024 * 1024;
/** Over all runs: the other connections are for small, urgent work such as leases. */
const CHUNKS_AT_ONCE = 2;
const IS_HELD = 'run_id = $1 AND epoch = $2 AND finished_at IS NULL AND lease_until IS NOT NULL';

interface SnapshotRow {
  snapshot_id: string;
  pos: number;
  bytes: number;
}

export function snapshotsOfEvictedRuns(tx: Transaction, runIds: readonly string[]): void {
  removeAll(tx, runIds);
}

export class PostgresWorkspaceSnapshots implements WorkspaceSnapshots {
  readonly #database: Database;
  readonly #chunks = new AtATime(CHUNKS_AT_ONCE);

  constructor(database: Database) {
    this.#database = database;
  }

  async store(lease: Lease, pos: number, snapshot: AsyncIterable<Uint8Array>): Promise<StoredSnapshot> {
    const snapshotId = randomUUID();
    let [count, bytes] = [0, 0];
    for await (const chunk of chunksOf(snapshot)) {
      await this.#chunks.run(() => this.#addChunk(lease, snapshotId, count, chunk));
      failpoint('snapshot.after-chunk');
      count++;
      bytes += chunk.length;
    }
    const stored = { snapshotId, pos, bytes };
    await this.#switchTo(lease, stored);
    return stored;
  }

  confirm(lease: Lease, snapshotId: string, pos: number): Promise<boolean> {
    return this.#database.transaction(WORK, async (tx) => {
      await hold(tx, lease);
      const confirmed = await tx.rows(
        'UPDATE workspace_snapshots SET pos = $3 WHERE run_id = $1 AND snapshot_id = $2 RETURNING 1',
        [lease.runId, snapshotId, pos],
      );
      return confirmed.length > 0;
    });
  }

  async find(runId: string): Promise<StoredSnapshot | undefined> {
    const [row] = await this.#database.rows<SnapshotRow>(
      ASKED,
      'SELECT snapshot_id, pos, bytes FROM workspace_snapshots WHERE run_id = $1',
      [runId],
    );
    return row && { snapshotId: row.snapshot_id, pos: row.pos, bytes: row.bytes };
  }

  async *read(runId: string, { snapshotId, bytes }: StoredSnapshot): AsyncGenerator<Uint8Array, void> {
    let left = bytes;
    for (let n = 0; left > 0; n++) {
      const [row] = await this.#chunks.run(() => this.#readChunk(runId, snapshotId, n));
      if (row === undefined)
        throw new Error(`The snapshot ${snapshotId} of ${runId} does not exist any more`);
      left -= row.bytes.length;
      yield row.bytes;
    }
  }

  remove(runId: string): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      const ended = await tx.rows<{ run_id: string }>(
        'SELECT run_id FROM runs WHERE run_id = $1 AND finished_at IS NOT NULL',
        [runId],
      );
      removeAll(
        tx,
        ended.map((row) => row.run_id),
      );
    });
  }

  #addChunk({ runId, epoch }: Lease, snapshotId: string, n: number, chunk: Buffer): Promise<void> {
    return this.#database.transaction(WORK, async (tx) => {
      const added = await tx.rows(
        `INSERT INTO workspace_snapshot_chunks (run_id, snapshot_id, n, bytes)
         SELECT run_id, $3, $4, $5 FROM runs WHERE ${IS_HELD} FOR KEY SHARE RETURNING 1`,
        [runId, epoch, snapshotId, n, chunk],
      );
      if (added.length === 0) throw new LeaseLostError(runId);
    });
  }

  #readChunk(runId: string, snapshotId: string, n: number): Promise<{ bytes: Uint8Array }[]> {
    return this.#database.rows(
      WORK,
      'SELECT bytes FROM workspace_snapshot_chunks WHERE run_id = $1 AND snapshot_id = $2 AND n = $3',
      [runId, snapshotId, n],
    );
  }

  #switchTo(lease: Lease, { snapshotId, pos, bytes }: StoredSnapshot): Promise<void> {
    return this.#database.transaction(WORK, async (tx) => {
      await hold(tx, lease);
      tx.send(
        `INSERT INTO workspace_snapshots (run_id, snapshot_id, epoch, pos, bytes, stored_at) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (run_id) DO UPDATE
            SET snapshot_id = excluded.snapshot_id, epoch = excluded.epoch, pos = excluded.pos, bytes = excluded.bytes,
                stored_at = excluded.stored_at`,
        [lease.runId, snapshotId, lease.epoch, pos, bytes, tx.now],
      );
      tx.send('DELETE FROM workspace_snapshot_chunks WHERE run_id = $1 AND snapshot_id <> $2', [
        lease.runId,
        snapshotId,
      ]);
    });
  }
}

/** Nobody else can claim the run until the transaction is over. */
async function hold(tx: Transaction, { runId, epoch }: Lease): Promise<void> {
  const held = await tx.rows(`SELECT 1 FROM runs WHERE ${IS_HELD} FOR UPDATE`, [runId, epoch]);
  if (held.length === 0) throw new LeaseLostError(runId);
}

function removeAll(tx: Transaction, runIds: readonly string[]): void {
  tx.send('DELETE FROM workspace_snapshots WHERE run_id = ANY ($1::text[])', [runIds]);
  tx.send('DELETE FROM workspace_snapshot_chunks WHERE run_id = ANY ($1::text[])', [runIds]);
}

async function* chunksOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  let pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytes) {
    pieces.push(piece);
    size += piece.length;
    if (size < CHUNK_BYTES) continue;
    yield Buffer.concat(pieces);
    [pieces, size] = [[], 0];
  }
  if (size > 0) yield Buffer.concat(pieces);
}
