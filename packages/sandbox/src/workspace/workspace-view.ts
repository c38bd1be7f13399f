/** A workspace for reading and moving, wherever it is. It has no file open between calls. */
import type { Readable } from 'node:stream';
import type { WorkspaceReader } from '../artifacts.ts';
import type { CapturedPath, CaptureOptions, ReadFilesOptions, WorkspaceCapture } from '../captures.ts';
import type { SnapshotOptions } from '../snapshots.ts';
import type { Digests } from './artifacts/digests.ts';
import { LocalWorkspaceReader } from './artifacts/local-workspace-reader.ts';
import { atPlace, type WorkspacePlace } from './artifacts/workspace-place.ts';
import { fromCapturedPath } from './captures/captured-path.ts';
import { ignoreMissing } from './files/workspace-path.ts';
import { takeSnapshot } from './snapshots/take-snapshot.ts';
import { fileThread } from './thread/file-thread.ts';

export interface WorkspaceView {
  readonly reader: WorkspaceReader;
  capture(options: CaptureOptions): Promise<WorkspaceCapture | undefined>;
  /** In the form of captures/read-files.ts. */
  readFiles(paths: readonly CapturedPath[], options: ReadFilesOptions): AsyncIterable<Uint8Array>;
  snapshot(options: SnapshotOptions): Promise<Readable | undefined>;
}

export interface ViewedDirectory {
  place: WorkspacePlace;
  /** Names the workspace, wherever it is. */
  key: string;
  /** The directory as commands see it. */
  workspaceDir: string;
  digests: Digests;
}

/** A view of a directory on this machine. */
export function viewDirectory({ place, key, workspaceDir, digests }: ViewedDirectory): WorkspaceView {
  return {
    reader: new LocalWorkspaceReader(place, workspaceDir, digests),
    capture: async ({ since, limits = {}, contentBytes = 0, signal }) => {
      const job = { owner: key, since, limits, contentBytes };
      return await ignoreMissing(atPlace(place, (dir) => fileThread.capture({ dir, ...job }, signal)));
    },
    readFiles: (paths, { signal }) => fileThread.read(place(), paths.map(fromCapturedPath), signal),
    snapshot: async (options) => takeSnapshot(place, options),
  };
}
