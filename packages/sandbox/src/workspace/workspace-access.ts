/** How files leave the workspace of a trajectory, the same for every backend: streamed, and without a slot. */
import type { Readable } from 'node:stream';
import type { WorkspaceReader } from '../artifacts.ts';
import type {
  CapturedFile,
  CapturedPath,
  CaptureOptions,
  ReadFilesOptions,
  WorkspaceCapture,
} from '../captures.ts';
import { revertedError } from '../errors.ts';
import type { SnapshotOptions } from '../snapshots.ts';
import { capturedFiles, noFiles } from './captures/captured-files.ts';
import type { WorkspaceView } from './workspace-view.ts';

export abstract class WorkspaceAccess {
  abstract isReverted(trajectoryId: string): Promise<boolean>;
  /** Undefined if the trajectory has no workspace. */
  protected abstract viewOf(trajectoryId: string): Promise<WorkspaceView | undefined>;

  async open(trajectoryId: string): Promise<WorkspaceReader | undefined> {
    return (await this.viewOf(trajectoryId))?.reader;
  }

  async capture(trajectoryId: string, options: CaptureOptions = {}): Promise<WorkspaceCapture | undefined> {
    return (await this.#presentView(trajectoryId))?.capture(options);
  }

  async *readFiles(
    trajectoryId: string,
    paths: readonly CapturedPath[],
    options: ReadFilesOptions = {},
  ): AsyncGenerator<CapturedFile, void> {
    if (paths.length > 0) yield* capturedFiles(this.readFileBytes(trajectoryId, paths, options));
  }

  /** `readFiles` in one stream, in the form of captures/read-files.ts. */
  async *readFileBytes(
    trajectoryId: string,
    paths: readonly CapturedPath[],
    options: ReadFilesOptions = {},
  ): AsyncGenerator<Uint8Array, void> {
    const view = await this.#presentView(trajectoryId);
    if (view) yield* view.readFiles(paths, options);
    else yield noFiles(paths.length);
  }

  async snapshot(trajectoryId: string, options: SnapshotOptions = {}): Promise<Readable | undefined> {
    return (await this.viewOf(trajectoryId))?.snapshot(options);
  }

  /** Tells a lost workspace from one that never existed. */
  async #presentView(trajectoryId: string): Promise<WorkspaceView | undefined> {
    const view = await this.viewOf(trajectoryId);
    if (!view && (await this.isReverted(trajectoryId))) throw revertedError(trajectoryId);
    return view;
  }
}
