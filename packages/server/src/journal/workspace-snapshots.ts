/**
 * Copies of workspaces in a store that several servers share, so that a run that continues on another machine finds its
 * files.
 *
 * - A run has at most one snapshot, that of the last `store` that resolved. It replaces the one before in one step: a
 *   crash in the middle of storing, at any moment, leaves the one before complete.
 * - `store` and `confirm` are fenced like an append: once the run was released or claimed again they are refused with
 *   `LeaseLostError` and change nothing that anybody reads. So the snapshot does not change while the owner of a run
 *   reads it.
 * - `pos` is the position in the run's log up to which the files are complete: they contain the effects of every call
 *   that has its outcome recorded up to there, and of no later one.
 * - A snapshot is deleted with its run. It is useless after the end of the run, and may be removed from then on.
 * - The bytes pass through in pieces: neither storing nor reading holds all of them in memory.
 */
import type { Lease } from './journal.ts';

export interface StoredSnapshot {
  snapshotId: string;
  pos: number;
  /** As stored. */
  bytes: number;
}

export interface WorkspaceSnapshots {
  store(lease: Lease, pos: number, snapshot: AsyncIterable<Uint8Array>): Promise<StoredSnapshot>;
  /**
   * Confirms that the files are still those of this snapshot, up to this position. False when it does not exist any
   * more.
   */
  confirm(lease: Lease, snapshotId: string, pos: number): Promise<boolean>;
  find(runId: string): Promise<StoredSnapshot | undefined>;
  /** Rejects half-way when it is replaced meanwhile. */
  read(runId: string, snapshot: StoredSnapshot): AsyncIterable<Uint8Array>;
  /** For a run that has ended; does nothing before. */
  remove(runId: string): Promise<void>;
}
