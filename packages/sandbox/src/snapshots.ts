/**
 * Taking a workspace along to another machine.
 *
 * - A snapshot holds what is in the workspace directory: files with their content, directories and symbolic links, each
 *   with its name in bytes, its permissions and the time it was changed. Owners are not kept, nor is it kept that two
 *   names were one file, nor what lies beside the directory: `/tmp`, and what a stateful shell remembers. What cannot be
 *   kept (a FIFO, a socket, a device, what may not be read) is counted.
 * - It can be taken with or without a slot. While nothing runs in the slot it is the workspace at that moment; a process
 *   that changes files meanwhile can leave in it the older state of one file beside the newer of another. A stream that
 *   ended in good order is whole; a snapshot that was cut off or damaged is refused by `restoreWorkspace`.
 * - A restored workspace is there as a whole or not at all, whenever the process ends. Nothing is written outside it,
 *   whatever the snapshot holds: links are made and never followed.
 * - Two surveys with the same fingerprint mean that nothing was changed in between. A fingerprint is of this machine.
 */

export interface WorkspaceSurvey {
  /** Of the content of all files. */
  bytes: number;
  /** Files, directories and whatever else has a name. One more than was asked for means: more. */
  entries: number;
  /** Undefined where something changes right now, or there is more than was looked at. */
  fingerprint: string | undefined;
}

export interface SurveyOptions {
  /** Where the look ends. No limit by default. */
  maxEntries?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface SnapshotOptions {
  /** Of the content of all files; over it the stream fails with `artifact_too_large`. No limit by default. */
  maxBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface RestoreOptions {
  signal?: AbortSignal | undefined;
}

export interface RestoredWorkspace {
  /** Files, directories and links. */
  entries: number;
  /** What was in the workspace and is not in this one, because it could not be kept. */
  omitted: number;
}
