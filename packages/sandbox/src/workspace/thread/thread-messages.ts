/**
 * The messages between the main thread and the thread for files. Each job has an id. Data flows in either direction,
 * with at most `AHEAD` chunks that the receiver has not taken yet.
 */
import type { CaptureLimits, WorkspaceCapture } from '../../captures.ts';
import type { SandboxErrorCode } from '../../errors.ts';
import type { RestoredWorkspace } from '../../snapshots.ts';
import type { TreeStart } from '../artifacts/read-tree.ts';

export const AHEAD = 4;

export interface CaptureJob {
  dir: string;
  /** The key of the workspace: `since` may only name a capture with the same owner. */
  owner: string;
  since: string | undefined;
  limits: CaptureLimits;
  contentBytes: number;
}

export type FileJob =
  | ({ job: 'capture' } & CaptureJob)
  /** Paths are those of captures/captured-path.ts. */
  | { job: 'read'; dir: string; paths: readonly string[] }
  | ({ job: 'tree' } & TreeStart)
  | { job: 'restore'; dir: string };

export type ToThread =
  | { id: number; begin: FileJob }
  /** The next chunk for `restore`; null is the end. */
  | { id: number; chunk: Uint8Array | null }
  /** A chunk of `read` or `tree` was taken. */
  | { id: number; taken: true }
  | { id: number; abort: true };

export interface ThreadFailure {
  message: string;
  code?: SandboxErrorCode | undefined;
  /** The code of a failed system call. */
  errno?: string | undefined;
}

export type FromThread =
  | { id: number; done: WorkspaceCapture | RestoredWorkspace | null }
  | { id: number; failed: ThreadFailure }
  | { id: number; chunk: Uint8Array }
  | { id: number; taken: true };
