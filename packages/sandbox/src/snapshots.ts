/**
 * Moving a workspace to another machine.
 *
 * - A snapshot holds the content of the workspace directory: files, directories and symbolic links, each with its name
 *   in bytes, its permissions and its modification time. It does not hold owners, hard links between names, or what is
 *   beside the directory: `/tmp`, and the state of a stateful shell. Entries that cannot be stored (a FIFO, a socket, a
 *   device, unreadable files) are counted.
 * - It can be taken with or without a slot. While nothing runs in the slot it shows the workspace at one moment; if a
 *   process changes files meanwhile, it may hold the older state of one file beside the newer state of another. A
 *   stream that ended normally is complete, compressed or not; `restore` refuses a snapshot that was cut off or damaged.
 * - A restored workspace exists as a whole or not at all, whenever the process ends. Nothing is written outside it,
 *   whatever the snapshot holds: links are created and never followed.
 */

export interface SnapshotOptions {
  /** For the content of all files together; over it the stream fails with `artifact_too_large`. No limit by default. */
  maxBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface RestoreOptions {
  signal?: AbortSignal | undefined;
}

export interface RestoredWorkspace {
  /** Files, directories and links. */
  entries: number;
  /** How many entries of the workspace are missing here, because they could not be stored. */
  omitted: number;
}
