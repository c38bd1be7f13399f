/**
 * Checkpoints: the files of a run's workspace after the calls of a step, as records of its log (`workspace.checkpointed`).
 *
 * Invariants
 * - The files contain the effects of every call whose outcome is recorded at or before `upto`, and of no later one. Only
 *   background processes, and clients that write artifacts, can change files beside the calls.
 * - A checkpoint is read from its record and from blobs alone, so any server can read it. The run holds those blobs until it is
 *   evicted (contents.ts). Its record is appended in the transaction that adds the references, so it is whole or not there.
 * - `parts` are ranges of blobs: a list of all entries, and after it the changes since then, in order. Folded, they are the tree
 *   (`../checkpoints/manifest.ts`).
 * - A record that says `missed` stands for files that were not kept. It holds until the next checkpoint.
 * - A session holds the blobs of one checkpoint: that of its last run that has ended. The next run of the session begins with it.
 */
import type { OmittedEntry } from '@talaria/sandbox';

/** Bytes of a blob from `start` up to but not including `end`. */
export interface BlobPart {
  blob_id: string;
  start: number;
  end: number;
}

/**
 * - `inherited`: the files of another run, which this one begins with.
 * - `prepared`: everything that the run begins with is in place.
 * - `worked`: the run has worked with them.
 */
export type CheckpointOrigin = 'inherited' | 'prepared' | 'worked';

export interface Checkpoint {
  upto: number;
  origin: CheckpointOrigin;
  parts: BlobPart[];
  /** Names the state of the workspace to the sandbox, which can tell what has changed since. */
  capture_id?: string | undefined;
  entries: number;
  /** The size of all files together. */
  bytes: number;
  /** How many bytes the checkpoints of the run have stored so far, this one included. */
  stored_bytes: number;
  /** The first of the entries that were in the workspace and are not kept. */
  omitted?: OmittedEntry[] | undefined;
  omitted_count?: number | undefined;
  /** The directory of the operator that the run worked in. The next run of its session continues there. */
  mounted?: string | undefined;
}

/**
 * - `too_large`: the checkpoints of the run would be larger than they may be.
 * - `failed`: the server could not read or store the files.
 */
export type MissReason = 'too_large' | 'failed';

export interface MissedCheckpoint {
  upto: number;
  missed: MissReason;
}

export type CheckpointRecord = Checkpoint | MissedCheckpoint;

export function isMissed(record: CheckpointRecord): record is MissedCheckpoint {
  return 'missed' in record;
}

/** The files that a session keeps of its last run. */
export interface SessionFiles {
  /** The run that the files are from. */
  run_id: string;
  checkpoint: Checkpoint;
}

/** For a fork of the session: it has the files, but not the directory of the operator that they are in. */
export function copiedFiles({ checkpoint: { mounted, ...checkpoint }, ...rest }: SessionFiles): SessionFiles {
  return { ...rest, checkpoint };
}

/** The files of a run, for a session, with all blobs that their checkpoint needs. */
export interface KeptSessionFiles {
  files: SessionFiles;
  blobIds: readonly string[];
}
