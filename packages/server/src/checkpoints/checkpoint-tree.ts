/**
 * The files of a workspace at one moment, as a checkpoint holds them.
 *
 * - A tree maps a key to each entry (`entryKey`). Its order is that of the entries: a directory comes before what is in it.
 * - An entry never changes. A tree that follows another shares the entries that are the same.
 * - The bytes of a file are a range of a blob. Files with the same content share it.
 */
import { type CapturedEntry, type CapturedPath, fromCapturedPath, type OmittedEntry } from '@talaria/sandbox';
import type { Checkpoint } from '../journal/checkpoints.ts';

/** Where the bytes of a file begin. There are `size` of them. */
export interface ContentPlace {
  blob_id: string;
  start: number;
}

export interface CheckpointEntry extends CapturedEntry {
  /** Only for a file that is not empty. */
  content?: ContentPlace | undefined;
}

export type CheckpointTree = ReadonlyMap<string, CheckpointEntry>;

/**
 * The bytes of the path, one character each: U+FFFD in a path can stand for any byte. What is in a directory has the key of the
 * directory and a slash at its beginning.
 */
export function entryKey(path: CapturedPath): string {
  return fromCapturedPath(path);
}

/** Bytes from `start` up to but not including `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A checkpoint that can be read, on any server. */
export interface CheckpointFiles {
  /** The last event whose effects the files contain; -1 for the files that a run begins with. */
  asOfSeq: number;
  tree: CheckpointTree;
  /** The first of the entries that were in the workspace and are not in the tree; `omittedCount` counts all of them. */
  omitted: readonly OmittedEntry[];
  omittedCount: number;
  /** The bytes of a file, all of them or a part. */
  read(entry: CheckpointEntry, range?: ByteRange): AsyncIterable<Uint8Array>;
}

/** The checkpoints of runs, for reading. */
export interface Checkpoints {
  /**
   * The files of a run at the last checkpoint that is not later than this event; at the last one of all if no event is named. A
   * run that has not worked with files yet has an empty tree. Rejects with `invalid_cursor` if the run has no such event, and
   * with `checkpoint_gone` if the files were not kept then.
   */
  at(runId: string, seq?: number): Promise<CheckpointFiles>;
  /** The files that the run began with. */
  start(runId: string): Promise<CheckpointFiles>;
  /** The blobs that are needed to read this checkpoint. Rejects with `checkpoint_gone` if they do not exist any more. */
  blobsOf(checkpoint: Checkpoint): Promise<string[]>;
}
