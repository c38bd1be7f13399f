/**
 * Copies of workspaces in a store that several servers share, so that a run that goes on on another machine finds its files.
 *
 * - A run has one snapshot at most, that of the last `store` that resolved. It takes the place of the one before in one
 *   step: whoever dies in the middle of storing, at any moment, leaves the one before whole.
 * - `store` and `confirm` are fenced like an append: once the run was given back or claimed again they are refused with
 *   `LeaseLostError` and change nothing that anybody reads. So what the owner of a run finds stays while it reads it.
 * - `pos` is the position in the run's log up to which the files are its own: every call that is on record there with its
 *   outcome has done in them what it did. Of a later one nothing is in them.
 * - A snapshot is deleted with its run. It is of no use after the end of the run, and may be removed from then on.
 * - The bytes pass through in pieces: neither storing nor reading has all of them in memory.
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
  /** The files of this snapshot are still what they were, up to this position. False when it is not there any more. */
  confirm(lease: Lease, snapshotId: string, pos: number): Promise<boolean>;
  find(runId: string): Promise<StoredSnapshot | undefined>;
  /** Rejects half-way when it is replaced meanwhile. */
  read(runId: string, snapshot: StoredSnapshot): AsyncIterable<Uint8Array>;
  /** Of a run that has ended; does nothing while it has not. */
  remove(runId: string): Promise<void>;
}
