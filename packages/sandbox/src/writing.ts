/**
 * Writing files into a workspace, from outside the sandbox, while commands may be changing it.
 *
 * - A path is relative to the workspace, or absolute as commands see it. A path outside the workspace, or through a
 *   symbolic link, is `invalid_path`. No link is ever followed, whatever is swapped in during the call, so nothing is
 *   written or removed outside the workspace.
 * - A file is written whole or not at all, also if the process is killed: its bytes are collected outside the workspace
 *   first, and then put in place in one step. A reader sees the old or the new content completely.
 * - Conditions are checked in the same turn in which the file is put in place, after the file tools of the slot have had
 *   theirs. `ifNoneMatch: '*'` holds against everybody. With `ifMatch`, a command that changes the file between the
 *   check and the replacement loses its change.
 * - What is written belongs to the user of the workspace's commands and counts against the limit of its disk space: over
 *   it the call fails with `workspace_full` and writes nothing.
 * - Nothing is written while the files are reverted (backend.ts): `workspace_reverted`. What restores them would delete it again.
 * - The workspace may move between its keeper and a slot meanwhile: a call works in its present place.
 */

export interface WriteConditions {
  /** The sha256, in hex, that the file must have: one of these; `*` for any file. Otherwise `precondition_failed`. */
  ifMatch?: readonly string[] | '*' | undefined;
  /** The sha256 that the file must not have; `*`: there must be nothing at this path. */
  ifNoneMatch?: readonly string[] | '*' | undefined;
}

export interface WriteOptions extends WriteConditions {
  /** Over it the call fails with `artifact_too_large`. No limit by default. */
  maxBytes?: number | undefined;
  /** Aborting before the file is put in place leaves everything as it was. */
  signal?: AbortSignal | undefined;
}

export interface RemoveOptions extends WriteConditions {
  /** Also remove a directory that is not empty. */
  recursive?: boolean | undefined;
}

export interface WrittenFile {
  /** Relative to the workspace, with `/`. */
  path: string;
  size: number;
  sha256: string;
  /** Seconds since the epoch, with a fraction. */
  modifiedAt: number;
  /** There was nothing at this path before. */
  isNew: boolean;
}

export interface MergedTree {
  /** Files, directories and links that were added or replaced. */
  entries: number;
  /** Entries of the snapshot that could not be created, because another of its entries was in the way. */
  omitted: number;
}

export interface OpenWriterOptions {
  /** Create an empty workspace if there is none. */
  create?: boolean | undefined;
}

/** The workspace of a trajectory, whether or not a slot holds it. Nothing stays open between calls. */
export interface WorkspaceWriter {
  /** Writes a regular file, with the directories above it. A replaced file keeps its permissions. */
  write(path: string, content: AsyncIterable<Uint8Array>, options?: WriteOptions): Promise<WrittenFile>;
  /** Removes a file, a link or an empty directory; `artifact_not_found` if there is nothing. */
  remove(path: string, options?: RemoveOptions): Promise<void>;
  /**
   * Adds the content of a snapshot (snapshots.ts): existing directories are kept, existing files and links are replaced.
   * If a directory and something else would have the same name, it fails with `invalid_path`; entries that were put in
   * place before stay. A snapshot that is damaged or cut off changes nothing.
   */
  merge(
    snapshot: AsyncIterable<Uint8Array>,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<MergedTree>;
}
