/**
 * Files that clients upload. The bytes are a blob; here is what a client sees of it.
 *
 * Invariants
 * - A file is there as a whole, with its blob, or not at all. It never changes.
 * - Another owner's file looks like one that does not exist.
 * - Ids grow with time. A list is in the order of ids, so an id is a place in it, also when its file was deleted.
 * - An owner's files never exceed the limits that they were added under, however many are added at the same time.
 */
import { TalariaError } from '@talaria/protocol';
import type { WrittenBlob } from '../blobs/blob-store.ts';
import type { Holder } from './contents.ts';

export interface StoredFile {
  fileId: string;
  filename: string;
  purpose: string;
  bytes: number;
  /** In hex. */
  sha256: string;
  blobId: string;
  /** In ms. */
  createdAt: number;
}

export interface NewFile {
  owner: string;
  fileId: string;
  filename: string;
  purpose: string;
  blob: WrittenBlob;
}

/** The limits for all files of an owner together. */
export interface FileLimits {
  maxFiles: number;
  maxBytes: number;
}

export interface FileTotals {
  files: number;
  bytes: number;
}

export interface FileFilter {
  owner: string;
  /** The id of a file that is or was there: only those after it. */
  after?: string | undefined;
  order: 'asc' | 'desc';
  purpose?: string | undefined;
  limit: number;
}

export interface Files {
  /** Rejects with `file_quota_exceeded`. */
  add(file: NewFile, limits: FileLimits): Promise<StoredFile>;
  get(owner: string, fileId: string): Promise<StoredFile | undefined>;
  list(filter: FileFilter): Promise<StoredFile[]>;
  totals(owner: string): Promise<FileTotals>;
  /** Returns the blobs that nobody needs any more; rejects with `file_not_found`. */
  delete(owner: string, fileId: string): Promise<string[]>;
}

export function fileHolder(fileId: string): Holder {
  return `file:${fileId}`;
}

export function fileNotFound(fileId: string): TalariaError {
  return new TalariaError('file_not_found', { message: `File not found: ${fileId}` });
}

/** Throws if a file of this size is more than the limits allow. */
export function expectRoom(used: FileTotals, bytes: number, { maxFiles, maxBytes }: FileLimits): void {
  const problem =
    used.files + 1 > maxFiles
      ? `This key has ${used.files} files, and may have ${maxFiles}`
      : used.bytes + bytes > maxBytes
        ? `The files of this key have ${used.bytes} bytes, and may have ${maxBytes} together with the new one of ${bytes}`
        : undefined;
  if (problem !== undefined) {
    throw new TalariaError('file_quota_exceeded', { message: `${problem}; delete some first` });
  }
}

export interface FileRow {
  file_id: string;
  filename: string;
  purpose: string;
  bytes: number;
  sha256: string;
  blob_id: string;
  created_at: number;
}

export const FILE_COLUMNS = 'file_id, filename, purpose, bytes, sha256, blob_id, created_at';

export function toStoredFile(row: FileRow): StoredFile {
  return {
    fileId: row.file_id,
    filename: row.filename,
    purpose: row.purpose,
    bytes: row.bytes,
    sha256: row.sha256,
    blobId: row.blob_id,
    createdAt: row.created_at,
  };
}

/** SQL for a page of files. `given` adds a parameter and returns its name. */
export function selectFiles(filter: FileFilter, given: (value: string | number) => string): string {
  const { owner, after, order, purpose, limit } = filter;
  const isDown = order === 'desc';
  return `SELECT ${FILE_COLUMNS} FROM files
           WHERE owner = ${given(owner)}${after === undefined ? '' : ` AND file_id ${isDown ? '<' : '>'} ${given(after)}`}
             ${purpose === undefined ? '' : `AND purpose = ${given(purpose)}`}
           ORDER BY file_id ${isDown ? 'DESC' : 'ASC'} LIMIT ${given(limit)}`;
}
