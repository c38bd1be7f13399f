/**
 * The workspaces of a backend by their trajectories, for everyone who holds no slot.
 *
 * - A workspace exists from the first acquire of its trajectory, or from the first call here that creates it, until it is
 *   discarded or reset, also after a restart of the process.
 * - Reading, writing and capturing work beside a slot that holds the workspace. `discard`, `restore` and `mount` replace the
 *   workspace as a whole, so they fail with `slot_held` while a slot holds it.
 * - A failure is a `SandboxError`: `backend_down` for what needs a started backend. Two things reject otherwise: an aborted call,
 *   and one whose own bytes fail, with their error.
 */
import type { Readable } from 'node:stream';
import type { WorkspaceReader } from './artifacts.ts';
import type {
  CapturedFile,
  CapturedPath,
  CaptureOptions,
  ReadFilesOptions,
  WorkspaceCapture,
} from './captures.ts';
import type { RestoredWorkspace, RestoreOptions, SnapshotOptions } from './snapshots.ts';
import type { OpenWriterOptions, WorkspaceWriter } from './writing.ts';

export interface TrajectoryWorkspaces {
  /** For reading (artifacts.ts); undefined if there is no workspace. */
  open(trajectoryId: string): Promise<WorkspaceReader | undefined>;
  /** For writing (writing.ts); undefined if there is no workspace and none is to be created. */
  openWriter(trajectoryId: string, options?: OpenWriterOptions): Promise<WorkspaceWriter | undefined>;
  /** The content of a workspace, or its changes (captures.ts); undefined if there is none. */
  capture(trajectoryId: string, options?: CaptureOptions): Promise<WorkspaceCapture | undefined>;
  /**
   * The content of files, in the order of the paths. Paths at which there is no readable file any more are left out, all of
   * them if there is no workspace.
   */
  readFiles(
    trajectoryId: string,
    paths: readonly CapturedPath[],
    options?: ReadFilesOptions,
  ): AsyncIterable<CapturedFile>;
  /** A workspace as a stream of bytes (snapshots.ts); undefined if there is none. */
  snapshot(trajectoryId: string, options?: SnapshotOptions): Promise<Readable | undefined>;
  /** Creates a workspace from a snapshot, replacing what it had. */
  restore(
    trajectoryId: string,
    snapshot: AsyncIterable<Uint8Array>,
    options?: RestoreOptions,
  ): Promise<RestoredWorkspace>;
  /**
   * Whether the files of a workspace are older than its last calls. That is so after a container was lost with the files, or
   * after its server ended without saving them, and until somebody acquires, restores or discards the workspace. Meanwhile the
   * backend does not capture it.
   */
  isReverted(trajectoryId: string): Promise<boolean>;
  /** The bytes that a workspace takes on this machine while no slot holds it; 0 if there is none, or if it is mounted. */
  diskUsage(trajectoryId: string): Promise<number>;
  /** Deletes a workspace; does nothing if there is none. */
  discard(trajectoryId: string): Promise<void>;
  /**
   * The trajectories that have a workspace, or have lost it with a container, in no order: `discard` finds something to delete for
   * each of them. Those whose ids cannot be read from a name are left out.
   */
  list(): Promise<string[]>;
  /**
   * Makes a directory of the operator the workspace of a trajectory, in place of what it had. Calls change the directory itself;
   * discarding, resetting, restoring and purging leave it alone. Absent if the backend cannot do that.
   */
  mount?(trajectoryId: string, dir: string): Promise<void>;
  /** The trajectories whose workspace is this directory, as far as their names tell. Present together with `mount`. */
  mountedAt?(dir: string): Promise<string[]>;
}
