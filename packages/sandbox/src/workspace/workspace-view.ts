/** A workspace for reading and moving, wherever it is. It has no file open between calls. */
import type { Readable } from 'node:stream';
import type { WorkspaceReader } from '../artifacts.ts';
import type { CapturedPath, CaptureOptions, ReadFilesOptions, WorkspaceCapture } from '../captures.ts';
import type { SnapshotOptions } from '../snapshots.ts';
import { LocalWorkspaceReader, type ReadDirectory } from './artifacts/local-workspace-reader.ts';
import { atPlace } from './artifacts/workspace-place.ts';
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

export interface ViewedDirectory extends ReadDirectory {
  /** Names the workspace, wherever it is. */
  key: string;
}

/** A view of a directory on this machine. */
export function viewDirectory({ key, ...read }: ViewedDirectory): WorkspaceView {
  const { place } = read;
  return {
    reader: new LocalWorkspaceReader(read),
    capture: async ({ since, limits = {}, contentBytes = 0, signal }) => {
      const job = { owner: key, since, limits, contentBytes };
      return await ignoreMissing(atPlace(place, (dir) => fileThread.capture({ dir, ...job }, signal)));
    },
    readFiles: (paths, { signal }) => fileThread.read(place(), paths.map(fromCapturedPath), signal),
    snapshot: async (options) => takeSnapshot(place, options),
  };
}
