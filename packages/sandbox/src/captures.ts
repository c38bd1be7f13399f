/**
 * The content of a workspace, and its changes since an earlier capture.
 *
 * - A capture lists files, directories and symbolic links with their names in bytes, permissions and modification times,
 *   files with the sha256 of their content. Like a snapshot it holds no owners, no hard links, and nothing beside the
 *   directory.
 * - Only entries whose inode, size, modification time or change time differ from the last capture are read. A command can
 *   set a file's modification time, but not its change time. A file that changed within the last step of the kernel's clock
 *   may change again unseen, so the next capture reads it again.
 * - `since` names an earlier capture of this trajectory. The side with the files remembers the last ones in memory. If it
 *   does not know this one, the capture is whole: it lists everything, and `removed` is empty.
 * - To follow a workspace, apply captures in their order: first take away every path of `removed` with all below it, then
 *   put in every entry of `changed`. The result is what a whole capture would list.
 * - An entry that is not captured is in `omitted` with the reason, and in neither list as something that is there: if an
 *   earlier capture had it, it is removed. `omitted` is complete in every capture, up to a bound; `omittedCount` counts on.
 * - While nothing runs in the slot, a capture shows the workspace at one moment. Otherwise it may show the older state of
 *   one file beside the newer one of another.
 * - `contents` spares the caller a second reading of small files. A backend may leave out any of them.
 * - `readFiles` gives the files as they are when they are read. The caller compares the digests with those of the capture.
 */
export interface CaptureLimits {
  /** Entries beyond this many are omitted. No limit by default. */
  maxEntries?: number | undefined;
  /** Larger files are omitted. No limit by default. */
  maxFileBytes?: number | undefined;
  /** Patterns in the manner of .gitignore, without negation: `node_modules`, `*.o`, `/build`. */
  ignore?: readonly string[] | undefined;
}

export interface CaptureOptions {
  since?: string | undefined;
  limits?: CaptureLimits | undefined;
  /** How many bytes of `contents` the caller wants, all files together. None by default. */
  contentBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Relative to the workspace, with `/`. */
export interface CapturedPath {
  /** With U+FFFD for bytes that are not UTF-8. */
  path: string;
  /** The bytes of the path in base64, if they are not UTF-8. */
  path_bytes?: string | undefined;
}

export type CapturedType = 'file' | 'directory' | 'symlink';

export interface CapturedEntry extends CapturedPath {
  type: CapturedType;
  /** Only the permissions. */
  mode: number;
  /** With a fraction. */
  modified_ms: number;
  /** In bytes: of the content of a file, or of the target of a link; 0 for a directory. */
  size: number;
  /** Only for a file: the digest of its content, in hex. */
  sha256?: string | undefined;
  /** Only for a link. */
  target?: string | undefined;
  /** The bytes of the target in base64, if they are not UTF-8. */
  target_bytes?: string | undefined;
}

/**
 * - `special`: a FIFO, a socket or a device.
 * - `unreadable`: its permissions forbid it, or those of its directory; or it became shorter while it was read.
 * - `too_large`, `too_many`: over the limits. After the first entry over `maxEntries` nothing is looked at any more.
 * - `too_deep`: it is below more directories than are walked down.
 * - `ignored`: it matches a pattern; of a directory only itself is named.
 */
export type OmissionReason = 'special' | 'unreadable' | 'too_large' | 'too_many' | 'too_deep' | 'ignored';

export interface OmittedEntry extends CapturedPath {
  reason: OmissionReason;
}

export interface WorkspaceCapture {
  captureId: string;
  /** It lists everything; else only what changed since the capture that was named. */
  isWhole: boolean;
  /** A directory comes before what is in it. */
  changed: CapturedEntry[];
  /** Whatever was below one of these is removed, too. */
  removed: CapturedPath[];
  /** The first of all that is left out. */
  omitted: OmittedEntry[];
  omittedCount: number;
  /** All of the workspace that is captured, changed or not. */
  entries: number;
  /** The size of all captured files together. */
  bytes: number;
  /** The bytes of files in `changed`, by their sha256. */
  contents?: ReadonlyMap<string, Uint8Array> | undefined;
}

/** A file in its state when it was opened. */
export interface CapturedFile extends CapturedPath {
  size: number;
  mode: number;
  modified_ms: number;
  /** Exactly `size` bytes, or an error. Read it before the next file. */
  content(): AsyncGenerator<Buffer, void>;
}

export interface ReadFilesOptions {
  signal?: AbortSignal | undefined;
}
