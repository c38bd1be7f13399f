/**
 * How files leave a workspace, the same for every backend. The holder of a slot gets them in one piece, limited in size and
 * time. By trajectory they are streamed, and no slot is needed.
 */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type {
  ArchiveArtifactsOptions,
  ArtifactArchive,
  ArtifactContent,
  ArtifactFile,
  ArtifactListing,
  ListArtifactsOptions,
  ReadArtifactOptions,
  WorkspaceReader,
} from '../artifacts.ts';
import type { Slot } from '../backend.ts';
import type {
  CapturedFile,
  CapturedPath,
  CaptureOptions,
  ReadFilesOptions,
  WorkspaceCapture,
} from '../captures.ts';
import { requireCount } from '../counts.ts';
import { revertedError, SandboxError } from '../errors.ts';
import { LONGEST_TIMER_S } from '../longest-timer.ts';
import type { SnapshotOptions } from '../snapshots.ts';
import { capturedFiles, noFiles } from './captures/captured-files.ts';
import { completeLength } from './files/utf8.ts';
import type { WorkspaceView } from './workspace-view.ts';

const DEFAULT_READ_BYTES = 10_000_000;
const DEFAULT_ARCHIVE_BYTES = 64_000_000;

export abstract class WorkspaceAccess {
  abstract readonly defaultTimeoutS: number;

  /** Throws `slot_gone` for a slot that is not held. */
  protected abstract readerOf(slot: Slot): WorkspaceReader;
  /** Undefined if the trajectory has no workspace. */
  protected abstract viewOf(trajectoryId: string): Promise<WorkspaceView | undefined>;

  async readArtifact(slot: Slot, path: string, options: ReadArtifactOptions = {}): Promise<ArtifactContent> {
    const { encoding = 'text', maxBytes = DEFAULT_READ_BYTES, includeSha256 = false } = options;
    const reader = this.readerOf(slot);
    return this.#withinTime(options.timeoutS, async (signal) => {
      requireCount('maxBytes', maxBytes);
      if (encoding !== 'text' && encoding !== 'base64') {
        throw new SandboxError('invalid_request', "'encoding' must be text or base64.");
      }
      await using file = await reader.open(path);
      const { size } = file;
      const truncated = size > maxBytes;
      const digest = includeSha256 && truncated ? await file.sha256(signal) : undefined;
      const bytes = await readBytes(file, Math.min(size, maxBytes), signal);
      const sha256 = digest ?? (includeSha256 ? createHash('sha256').update(bytes).digest('hex') : undefined);
      // A character that the limit cuts in half is left out.
      const whole = encoding === 'text' && truncated ? bytes.subarray(0, completeLength(bytes)) : bytes;
      return {
        path: file.path,
        encoding,
        content: whole.toString(encoding === 'text' ? 'utf8' : 'base64'),
        size,
        truncated,
        ...(sha256 === undefined ? {} : { sha256 }),
      };
    });
  }

  async listArtifacts(slot: Slot, path = '.', options: ListArtifactsOptions = {}): Promise<ArtifactListing> {
    const reader = this.readerOf(slot);
    const { timeoutS, ...rest } = options;
    return this.#withinTime(timeoutS, (signal) => reader.list(path, { ...rest, signal }));
  }

  async archiveArtifacts(
    slot: Slot,
    path = '.',
    options: ArchiveArtifactsOptions = {},
  ): Promise<ArtifactArchive> {
    const { archiveFormat = 'tar.gz', maxBytes = DEFAULT_ARCHIVE_BYTES, maxEntries, timeoutS } = options;
    const reader = this.readerOf(slot);
    return this.#withinTime(timeoutS, async (signal) => {
      const stream = await reader.archive(path, { format: archiveFormat, maxBytes, maxEntries, signal });
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      return { archiveFormat, content: Buffer.concat(chunks) };
    });
  }

  async openWorkspace(trajectoryId: string): Promise<WorkspaceReader | undefined> {
    return (await this.viewOf(trajectoryId))?.reader;
  }

  /** Always false here: these workspaces stay on this machine. */
  async isReverted(_trajectoryId: string): Promise<boolean> {
    return false;
  }

  async captureWorkspace(
    trajectoryId: string,
    options: CaptureOptions = {},
  ): Promise<WorkspaceCapture | undefined> {
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

  async snapshotWorkspace(
    trajectoryId: string,
    options: SnapshotOptions = {},
  ): Promise<Readable | undefined> {
    return (await this.viewOf(trajectoryId))?.snapshot(options);
  }

  /** Tells a lost workspace from one that never existed. */
  async #presentView(trajectoryId: string): Promise<WorkspaceView | undefined> {
    const view = await this.viewOf(trajectoryId);
    if (!view && (await this.isReverted(trajectoryId))) throw revertedError(trajectoryId);
    return view;
  }

  async #withinTime<T>(
    timeoutS = this.defaultTimeoutS,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (!(timeoutS > 0)) throw new SandboxError('invalid_request', "'timeoutS' must be over 0.");
    const signal = AbortSignal.timeout(Math.ceil(Math.min(timeoutS, LONGEST_TIMER_S) * 1000));
    try {
      return await work(signal);
    } catch (cause) {
      if (!signal.aborted) throw cause;
      throw new SandboxError('artifact_timeout', `Not finished within ${timeoutS} s.`, { cause });
    }
  }
}

async function readBytes(file: ArtifactFile, length: number, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.stream({ start: 0, end: length })) {
    signal.throwIfAborted();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
