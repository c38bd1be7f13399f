/**
 * Taking files out of a workspace, from outside the sandbox and while commands may be changing it.
 *
 * - A path is relative to the workspace, or absolute as commands see it. Outside the workspace, through a symbolic
 *   link, or at something that is neither file nor directory: `invalid_path`. Nothing there: `artifact_not_found`.
 * - No link is ever followed and no device, FIFO or socket is ever opened, whatever is swapped in during the call.
 *   A listing names them with their type; an archive leaves them out, and with them files whose permissions forbid
 *   reading.
 * - A file is as long as it was when it was opened: what is appended later is not part of the answer. A file that
 *   becomes shorter while it is read ends the stream with `artifact_changed`; so does a workspace that is deleted
 *   under an archive. A stream that ended in good order is therefore whole.
 * - Streams hold a few blocks in memory, however large the file or the tree, and wait for a slow reader. Destroying
 *   a stream closes every file it had open.
 * - Names that are not UTF-8 are listed with U+FFFD for what is wrong in them and cannot be asked for by path; a
 *   tar keeps their bytes.
 */
import type { Readable } from 'node:stream';

export type ArtifactType = 'file' | 'directory' | 'symlink' | 'device' | 'fifo' | 'socket';

export interface Artifact {
  /** Relative to the workspace, with `/`. */
  path: string;
  type: ArtifactType;
  /** Bytes of a file; 0 for everything else. */
  size: number;
  /** Seconds since the epoch, with a fraction. */
  modifiedAt: number;
}

export interface ArtifactListing {
  /** Directory by directory; in each by the bytes of the name; a directory's own entries come after its siblings. */
  entries: Artifact[];
  /** There is more than was asked for, or deeper than is looked. */
  truncated: boolean;
}

export interface ListOptions {
  /** Also what lies in the directories below. */
  recursive?: boolean | undefined;
  /** 10 000 by default. */
  maxEntries?: number | undefined;
  signal?: AbortSignal | undefined;
}

export const ARCHIVE_FORMATS = ['tar.gz', 'tar', 'zip'] as const;
export type ArchiveFormat = (typeof ARCHIVE_FORMATS)[number];

export interface ArchiveOptions {
  /** `tar.gz` by default. */
  format?: ArchiveFormat | undefined;
  /** Of the archive itself; over it the stream fails with `artifact_too_large`. No limit by default. */
  maxBytes?: number | undefined;
  /** Files and directories; over it the stream fails with `artifact_too_large`. No limit by default. */
  maxEntries?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The workspace of a trajectory, whether a slot holds it or not. It holds nothing open between calls. */
export interface WorkspaceReader {
  /** What lies in the directory at this path; of a file, its own entry. */
  list(path: string, options?: ListOptions): Promise<ArtifactListing>;
  /** The regular file at this path. The caller closes it. */
  open(path: string): Promise<ArtifactFile>;
  /**
   * The directory (or the one file) at this path as an archive, with names relative to it. Rejects before the first
   * byte if there is nothing to archive at this path.
   */
  archive(path: string, options?: ArchiveOptions): Promise<Readable>;
}

/** One file, open: the same one whatever happens to its name. */
export interface ArtifactFile extends AsyncDisposable {
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: number;
  /** Of the whole file, in hex. Remembered for as long as the file does not change. */
  sha256(signal?: AbortSignal): Promise<string>;
  /**
   * The bytes from `start` up to and without `end`; all of them by default. With `sha256` the stream ends in good
   * order only if the file still has that digest. The end of the stream, good or bad, closes the file.
   */
  stream(range?: { start: number; end: number }, options?: { sha256?: string | undefined }): Readable;
}

export interface ReadArtifactOptions {
  /** `text` replaces what is not UTF-8. `text` by default. */
  encoding?: 'text' | 'base64' | undefined;
  /** A longer file is cut here, and says so. 10 MB by default. */
  maxBytes?: number | undefined;
  /** Adds the digest of the whole file, also where the content was cut. */
  includeSha256?: boolean | undefined;
  /** The backend's default by default; over it the call fails with `artifact_timeout`. */
  timeoutS?: number | undefined;
}

export interface ArtifactContent {
  path: string;
  encoding: 'text' | 'base64';
  content: string;
  /** Bytes of the whole file. */
  size: number;
  truncated: boolean;
  sha256?: string;
}

export interface ListArtifactsOptions {
  recursive?: boolean | undefined;
  maxEntries?: number | undefined;
  timeoutS?: number | undefined;
}

export interface ArchiveArtifactsOptions {
  archiveFormat?: ArchiveFormat | undefined;
  /** Half an archive is none: over it the call fails with `artifact_too_large`. 64 MB by default. */
  maxBytes?: number | undefined;
  maxEntries?: number | undefined;
  timeoutS?: number | undefined;
}

export interface ArtifactArchive {
  archiveFormat: ArchiveFormat;
  content: Buffer;
}
