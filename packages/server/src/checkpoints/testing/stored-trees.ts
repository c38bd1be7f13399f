/** Checkpoints in a `BlobStore`, for tests: the contents of all files of a tree are one blob. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TalariaError } from '@talaria/protocol';
import type { CapturedEntry, CaptureLimits, OmittedEntry, TrajectoryWorkspaces } from '@talaria/sandbox';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { DirectoryBlobs } from '../../blobs/directory-blobs.ts';
import {
  type CheckpointEntry,
  type CheckpointFiles,
  type Checkpoints,
  entryKey,
} from '../checkpoint-tree.ts';

export interface StoredTreeOptions {
  asOfSeq?: number;
  omitted?: readonly OmittedEntry[];
  omittedCount?: number;
}

/** An entry as a test writes it down. A content in latin1 can be any bytes. */
export interface WrittenEntry {
  path: string | Buffer;
  /** Of a file. */
  content?: string | Buffer;
  /** Of a link. */
  target?: string;
  mode?: number;
}

export class StoredTrees implements Disposable {
  readonly blobs: BlobStore;
  readonly #directory = mkdtempSync(join(tmpdir(), 'talaria-checkpoints-'));

  constructor() {
    this.blobs = new DirectoryBlobs({ path: join(this.#directory, 'blobs') });
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Of these entries, and the directories above them. */
  write(entries: readonly WrittenEntry[], options: StoredTreeOptions = {}): Promise<CheckpointFiles> {
    const captured: CapturedEntry[] = [];
    const contents = new Map<CapturedEntry, Buffer>();
    const directories = new Set<string>();
    const add = (bytes: Buffer, entry: Omit<CapturedEntry, 'path' | 'modified_ms'>): CapturedEntry => {
      const path = bytes.toString();
      const isText = Buffer.from(path).equals(bytes);
      const made = { path, ...(isText ? {} : { path_bytes: bytes.toString('base64') }), ...entry };
      const whole = { ...made, modified_ms: 1_500_000_000_000 };
      captured.push(whole);
      return whole;
    };
    for (const { path, content, target, mode } of entries) {
      const bytes = Buffer.from(path as string);
      for (let at = bytes.indexOf('/'); at >= 0; at = bytes.indexOf('/', at + 1)) {
        const above = bytes.subarray(0, at);
        if (directories.has(above.toString('latin1'))) continue;
        directories.add(above.toString('latin1'));
        add(above, { type: 'directory', mode: 0o755, size: 0 });
      }
      if (target !== undefined) {
        add(bytes, { type: 'symlink', mode: 0o777, size: Buffer.byteLength(target), target });
      } else if (content === undefined) {
        directories.add(bytes.toString('latin1'));
        add(bytes, { type: 'directory', mode: mode ?? 0o755, size: 0 });
      } else {
        const buffer = Buffer.from(content as string);
        const sha256 = createHash('sha256').update(buffer).digest('hex');
        const entry = add(bytes, { type: 'file', mode: mode ?? 0o644, size: buffer.length, sha256 });
        contents.set(entry, buffer);
      }
    }
    return this.#store(captured, contents, options);
  }

  /** Of the workspace that a trajectory has now. */
  async capture(
    workspaces: TrajectoryWorkspaces,
    trajectory: string,
    { limits, ...options }: StoredTreeOptions & { limits?: CaptureLimits } = {},
  ): Promise<CheckpointFiles> {
    const capture = await workspaces.capture(trajectory, { limits });
    const changed = capture?.changed ?? [];
    const files = new Map(
      changed.flatMap((entry) => (entry.type === 'file' ? [[entryKey(entry), entry] as const] : [])),
    );
    const contents = new Map<CapturedEntry, Buffer>();
    for await (const file of workspaces.readFiles(trajectory, [...files.values()])) {
      const chunks: Buffer[] = [];
      for await (const chunk of file.content()) chunks.push(chunk);
      contents.set(files.get(entryKey(file))!, Buffer.concat(chunks));
    }
    const { omitted = [], omittedCount = 0 } = capture ?? {};
    return this.#store(changed, contents, { omitted, omittedCount, ...options });
  }

  async #store(
    entries: readonly CapturedEntry[],
    contents: ReadonlyMap<CapturedEntry, Buffer>,
    { asOfSeq = 0, omitted = [], omittedCount = omitted.length }: StoredTreeOptions,
  ): Promise<CheckpointFiles> {
    const { blobs } = this;
    const { blobId } = await blobs.write(each(contents.values()));
    const tree = new Map<string, CheckpointEntry>();
    const starts = new Map<CapturedEntry, number>();
    let start = 0;
    for (const [entry, { length }] of contents) {
      starts.set(entry, start);
      start += length;
    }
    for (const entry of entries) {
      const at = entry.size > 0 ? starts.get(entry) : undefined;
      tree.set(
        entryKey(entry),
        at === undefined ? entry : { ...entry, content: { blob_id: blobId, start: at } },
      );
    }
    return {
      asOfSeq,
      tree,
      omitted,
      omittedCount,
      async *read({ content, size }, range = { start: 0, end: size }) {
        if (content === undefined) return;
        yield* blobs.read(content.blob_id, {
          start: content.start + range.start,
          end: content.start + range.end,
        });
      },
    };
  }
}

/** The checkpoints of runs, from the first to the last; `undefined` is one that was not kept. */
export class KeptCheckpoints implements Checkpoints {
  readonly #runs = new Map<string, readonly { seq: number; files: CheckpointFiles | undefined }[]>();

  keep(runId: string, checkpoints: readonly { seq: number; files: CheckpointFiles | undefined }[]): void {
    this.#runs.set(runId, checkpoints);
  }

  async at(runId: string, seq = Number.POSITIVE_INFINITY): Promise<CheckpointFiles> {
    const found = this.#runs.get(runId)?.findLast((checkpoint) => checkpoint.seq <= seq);
    if (found?.files === undefined) throw new TalariaError('checkpoint_gone');
    return found.files;
  }

  start(runId: string): Promise<CheckpointFiles> {
    return this.at(runId, -1);
  }

  async blobsOf(): Promise<string[]> {
    return [];
  }
}

async function* each(contents: Iterable<Buffer>): AsyncGenerator<Buffer, void> {
  yield* contents;
}
