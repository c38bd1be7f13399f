/**
 * Reading files out of a workspace, from outside the sandbox, while commands may be changing it.
 *
 * - A path is relative to the workspace, or absolute as commands see it. A single file may also be a whole output, at the path
 *   that a result named. Any other path outside the workspace, through a
 *   symbolic link, or to something that is neither file nor directory is `invalid_path`. A missing one is
 *   `artifact_not_found`.
 * - No link is ever followed and no device, FIFO or socket is ever opened, whatever is swapped in during the call.
 *   A listing names them with their type; an archive leaves them out, and with them files whose permissions forbid
 *   reading.
 * - A file has the length that it had when it was opened: data appended later is not part of the answer. A file that
 *   becomes shorter while it is read ends the stream with `artifact_changed`; so does a workspace that is deleted while
 *   it is archived. A stream that ended normally is therefore complete.
 * - Streams hold a few blocks in memory, however large the file or the tree, and wait for a slow reader. Destroying
 *   a stream closes every file it had open.
 * - Names that are not UTF-8 are listed with U+FFFD for the invalid bytes and cannot be requested by path; a tar keeps
 *   their bytes.
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
  /** There are more entries than requested, or deeper ones than are listed. */
  truncated: boolean;
}

export interface ListOptions {
  /** Also list the directories below. */
  recursive?: boolean | undefined;
  /** 10 000 by default. */
  maxEntries?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** `tgz` is another name of `tar.gz`. */
export const ARCHIVE_FORMATS = ['tar.gz', 'tgz', 'tar', 'zip'] as const;
export type ArchiveFormat = (typeof ARCHIVE_FORMATS)[number];

export interface ArchiveOptions {
  /** `tar.gz` by default. */
  format?: ArchiveFormat | undefined;
  /** The size of the archive itself; over it the stream fails with `artifact_too_large`. No limit by default. */
  maxBytes?: number | undefined;
  /** The number of files and directories; over it the stream fails with `artifact_too_large`. No limit by default. */
  maxEntries?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The workspace of a trajectory, whether or not a slot holds it. Nothing stays open between calls. The chunks of a stream
 * belong to its reader, which may overwrite or free them.
 */
export interface WorkspaceReader {
  /** The entries of the directory at this path; for a file, its own entry. */
  list(path: string, options?: ListOptions): Promise<ArtifactListing>;
  /** The regular file at this path. The caller closes it. */
  open(path: string): Promise<ArtifactFile>;
  /**
   * The directory (or the one file) at this path as an archive, with names relative to it. Rejects before the first
   * byte if there is nothing to archive at this path.
   */
  archive(path: string, options?: ArchiveOptions): Promise<Readable>;
}

/** One open file: the same one whatever happens to its name. */
export interface ArtifactFile extends AsyncDisposable {
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: number;
  /** The digest of the whole file, in hex. Cached for as long as the file does not change. */
  sha256(signal?: AbortSignal): Promise<string>;
  /**
   * The bytes from `start` up to but not including `end`; all of them by default. With `sha256` the stream ends
   * normally only if the file still has that digest. The end of the stream, normal or not, closes the file.
   */
  stream(range?: { start: number; end: number }, options?: { sha256?: string | undefined }): Readable;
}

export interface ReadArtifactOptions {
  /** `text` replaces bytes that are not UTF-8. `text` by default. */
  encoding?: 'text' | 'base64' | undefined;
  /** A longer file is cut here, and the result says so. 10 MB by default. */
  maxBytes?: number | undefined;
  /** Adds the digest of the whole file, even if the content was cut. */
  includeSha256?: boolean | undefined;
  /** The backend's timeout by default; over it the call fails with `artifact_timeout`. */
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
  /** Half an archive is useless: over this size the call fails with `artifact_too_large`. 64 MB by default. */
  maxBytes?: number | undefined;
  maxEntries?: number | undefined;
  timeoutS?: number | undefined;
}

export interface ArtifactArchive {
  archiveFormat: ArchiveFormat;
  content: Buffer;
  /** Files and directories in it. */
  entryCount: number;
}
