/**
 * Makes the checkpoints of one run, for the time of one claim. `../journal/checkpoints.ts` says what a checkpoint is.
 *
 * - A checkpoint is made while no call of the run is in progress. It reads and stores only what changed since the last one.
 * - Its caller appends it to the log, with its new blobs. Until then nobody knows of it, and a small blob is not stored either. A
 *   large one whose record is never appended is collected.
 * - If the files cannot be kept, because they are too large or something fails, the log says so once, and the run continues.
 */
import { isDeepStrictEqual } from 'node:util';
import { packTree, type TrajectoryWorkspaces, type WorkspaceCapture } from '@talaria/sandbox';
import type { Log } from '../basics/log.ts';
import { type BlobStore, BlobTooLargeError } from '../blobs/blob-store.ts';
import type {
  BlobPart,
  Checkpoint,
  CheckpointOrigin,
  CheckpointRecord,
  MissReason,
} from '../journal/checkpoints.ts';
import { MAX_SMALL_BLOB_BYTES, type NewBlob, type SmallBlob } from '../journal/contents.ts';
import { isDiskFull, isStoreError } from '../journal/store-error.ts';
import type { CheckpointOutcome, Report } from '../telemetry/facts.ts';
import { type CheckpointEntry, type CheckpointTree, type ContentPlace, entryKey } from './checkpoint-tree.ts';
import { applyChange, blobsOf, changeBetween, EMPTY_TREE, readTree, type TreeChange } from './manifest.ts';
import { storeChange } from './store-change.ts';
import { treeEntries } from './tree-entries.ts';

/** A whole list is written again after this many changes, so that reading a checkpoint stays cheap. */
const MAX_PARTS = 16;
/** Listing this many entries takes about as long as a step may be delayed. */
const MAX_ENTRIES = 100_000;
/** How many omitted entries a checkpoint names. */
const MAX_NAMED = 50;

export interface CheckpointLimits {
  /** How many bytes all checkpoints of a run may store together. */
  maxBytes: number;
  /** Larger files are left out. */
  maxFileBytes: number;
  /** Patterns of names that are left out. */
  ignore: readonly string[];
}

export interface CheckpointMakerOptions {
  workspaces: Pick<TrajectoryWorkspaces, 'capture' | 'readFiles' | 'restore'>;
  blobs: BlobStore;
  limits: CheckpointLimits;
  log: Log;
  report: Report;
}

/** A record that the caller appends, with its new blobs. */
export interface MadeCheckpoint {
  record: CheckpointRecord;
  blobs: (NewBlob | SmallBlob)[];
}

export interface RestoredFiles {
  /** How many entries of the workspace the checkpoint does not have. */
  omitted: number;
}

export class CheckpointMaker {
  readonly #runId: string;
  readonly #options: CheckpointMakerOptions;
  #last: { checkpoint: Checkpoint; tree: CheckpointTree | undefined } | undefined;
  #isMissed = false;
  /** Where each content of the run is, as far as it is known here. */
  readonly #places = new Map<string, ContentPlace>();

  /** `last`: the newest checkpoint in the log. */
  constructor(runId: string, last: Checkpoint | undefined, options: CheckpointMakerOptions) {
    this.#runId = runId;
    this.#options = options;
    this.#last = last && { checkpoint: last, tree: undefined };
  }

  /**
   * Keeps the files in their present state, which contains all effects up to this position. Undefined if the run has no workspace,
   * or if the log says already that its files are not kept. Rejects only when the signal aborts or the store is lost.
   */
  async make(
    upto: number,
    origin: CheckpointOrigin,
    signal?: AbortSignal,
  ): Promise<MadeCheckpoint | undefined> {
    const startedAt = performance.now();
    try {
      const made = await this.#make(upto, origin, signal);
      if (made === undefined) return undefined;
      const { checkpoint, tree, stored } = made;
      this.#last = { checkpoint, tree };
      this.#isMissed = false;
      this.#report(stored === undefined ? 'unchanged' : 'stored', startedAt, stored?.size ?? 0);
      return { record: checkpoint, blobs: stored === undefined ? [] : [stored.blob] };
    } catch (error) {
      signal?.throwIfAborted();
      // Files take much more room than records, so the run may well continue without them.
      if (isStoreError(error) && !isDiskFull(error)) throw error;
      const missed: MissReason = error instanceof BlobTooLargeError ? 'too_large' : 'failed';
      this.#report(missed, startedAt);
      if (this.#isMissed) return undefined;
      this.#isMissed = true;
      const { log } = this.#options;
      log.warn({ runId: this.#runId, err: error }, 'the files of the run could not be kept');
      return { record: { upto, missed }, blobs: [] };
    }
  }

  /** Makes the workspace what the checkpoint says; undefined if it cannot be read any more. */
  async restore(checkpoint: Checkpoint, signal?: AbortSignal): Promise<RestoredFiles | undefined> {
    const { workspaces, blobs, log } = this.#options;
    const runId = this.#runId;
    const startedAt = performance.now();
    try {
      const tree = await readTree(checkpoint.parts, blobs);
      const snapshot = packTree(treeEntries(tree, blobs), { compress: false, signal });
      const { entries } = await workspaces.restore(runId, snapshot, { signal });
      this.#last = { checkpoint, tree };
      this.#isMissed = false;
      log.info({ runId, entries, bytes: checkpoint.bytes }, 'the files of the run were restored');
      this.#report('restored', startedAt, checkpoint.bytes);
      return { omitted: checkpoint.omitted_count ?? 0 };
    } catch (error) {
      signal?.throwIfAborted();
      // It could not be read now; the next attempt may succeed.
      if (isStoreError(error)) throw error;
      log.error({ runId, err: error }, 'the files of the run could not be restored');
      this.#report('unusable', startedAt);
      return undefined;
    }
  }

  /** The same for the last one, with the position in the log that it contains; undefined also if there is none. */
  async restoreLast(signal?: AbortSignal): Promise<(RestoredFiles & { pos: number }) | undefined> {
    const last = this.#last?.checkpoint;
    const restored = last && (await this.restore(last, signal));
    return restored && { ...restored, pos: last.upto };
  }

  /** The blobs that a checkpoint of the run needs; undefined if it cannot be read. */
  async blobsOf({ parts }: Checkpoint): Promise<string[] | undefined> {
    try {
      const isLast = this.#last !== undefined && isDeepStrictEqual(this.#last.checkpoint.parts, parts);
      return blobsOf(await (isLast ? this.#lastTree() : readTree(parts, this.#options.blobs)), parts);
    } catch (error) {
      if (isStoreError(error)) throw error;
      this.#options.log.error(
        { runId: this.#runId, err: error },
        'a checkpoint of the run could not be read',
      );
      return undefined;
    }
  }

  async #make(upto: number, origin: CheckpointOrigin, signal: AbortSignal | undefined) {
    const { workspaces, blobs, limits } = this.#options;
    const last = this.#last?.checkpoint;
    const capture = await workspaces.capture(this.#runId, {
      since: this.#last?.tree && last?.capture_id,
      limits: { maxEntries: MAX_ENTRIES, maxFileBytes: limits.maxFileBytes, ignore: limits.ignore },
      contentBytes: MAX_SMALL_BLOB_BYTES,
      signal,
    });
    if (capture === undefined) return undefined;
    const before = await this.#lastTree();
    const found = this.#changeOf(capture, before);
    const checkpoint = (parts: BlobPart[], newBytes: number): Checkpoint => ({
      upto,
      origin,
      parts,
      capture_id: capture.captureId,
      entries: capture.entries,
      bytes: capture.bytes,
      stored_bytes: (last?.stored_bytes ?? 0) + newBytes,
      ...(capture.omittedCount === 0
        ? {}
        : { omitted: capture.omitted.slice(0, MAX_NAMED), omitted_count: capture.omittedCount }),
    });
    if (last !== undefined && found.changed.length + found.removed.length === 0) {
      return { checkpoint: checkpoint(last.parts, 0), tree: before };
    }
    const isWhole = last === undefined || last.parts.length >= MAX_PARTS;
    const change = isWhole ? { removed: [], changed: [...applyChange(before, found).values()] } : found;
    const maxBytes = Math.max(0, limits.maxBytes - (last?.stored_bytes ?? 0));
    const source = {
      trajectoryId: this.#runId,
      workspaces,
      contents: capture.contents ?? new Map(),
      known: (sha256: string) => this.#places.get(sha256),
    };
    const stored = await storeChange(change, source, blobs, { maxBytes, signal });
    const tree = applyChange(isWhole ? EMPTY_TREE : before, stored.change);
    this.#learn(stored.change.changed);
    const parts = isWhole ? [stored.part] : [...last.parts, stored.part];
    return { checkpoint: checkpoint(parts, stored.size), tree, stored };
  }

  /** An entry that was not changed keeps the place of its content. */
  #changeOf(capture: WorkspaceCapture, before: CheckpointTree): TreeChange {
    if (!capture.isWhole) return capture;
    const whole = new Map<string, CheckpointEntry>();
    for (const entry of capture.changed) whole.set(entryKey(entry), entry);
    return changeBetween(before, whole);
  }

  async #lastTree(): Promise<CheckpointTree> {
    if (this.#last === undefined) return EMPTY_TREE;
    this.#last.tree ??= await readTree(this.#last.checkpoint.parts, this.#options.blobs);
    if (this.#places.size === 0) this.#learn(this.#last.tree.values());
    return this.#last.tree;
  }

  #learn(entries: Iterable<CheckpointEntry>): void {
    for (const { sha256, content } of entries) {
      if (sha256 !== undefined && content !== undefined) this.#places.set(sha256, content);
    }
  }

  #report(outcome: CheckpointOutcome, startedAt: number, bytes = 0): void {
    const durationMs = performance.now() - startedAt;
    this.#options.report({ fact: 'workspace.checkpoint', outcome, durationMs, bytes });
  }
}
