/**
 * The files that clients upload: their bytes in the blob store, everything else in the journal.
 *
 * The bytes are there before the file, and go after it. So a crash at any moment leaves no file without its bytes. It may leave
 * bytes without a file; the sweep removes those.
 */
import { createFileId, isFileId, TalariaError } from '@talaria/protocol';
import { failpoint } from '../basics/failpoints.ts';
import {
  BlobGoneError,
  type BlobRange,
  type BlobStore,
  BlobTooLargeError,
  type WrittenBlob,
} from '../blobs/blob-store.ts';
import {
  expectRoom,
  type FileFilter,
  type FileLimits,
  type Files,
  fileNotFound,
  type StoredFile,
} from '../journal/files.ts';
import { ArrivingBytes } from './arriving-bytes.ts';

export interface UploadLimits extends FileLimits {
  maxFileBytes: number;
}

export interface UploadedFilesOptions {
  files: Files;
  blobs: BlobStore;
  limits: UploadLimits;
}

export interface Upload {
  /** How many bytes the client says that its form has. */
  declared?: number | undefined;
  signal: AbortSignal;
  /** Hands the bytes of the one file over; resolves when the client has sent everything. */
  read(
    keep: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
  ): Promise<{ filename: string; purpose: string }>;
}

/** How many bytes a form has at most besides its file. */
const FORM_BYTES = 64 * 1024;

export class UploadedFiles {
  readonly #files: Files;
  readonly #blobs: BlobStore;
  readonly #limits: UploadLimits;
  readonly #arriving = new ArrivingBytes();

  constructor({ files, blobs, limits }: UploadedFilesOptions) {
    this.#files = files;
    this.#blobs = blobs;
    this.#limits = limits;
  }

  /** The whole form of a file, at most. */
  get maxFormBytes(): number {
    return this.#limits.maxFileBytes + FORM_BYTES;
  }

  async create(owner: string, upload: Upload): Promise<StoredFile> {
    const { declared = 0 } = upload;
    if (declared > this.maxFormBytes) throw tooLarge(this.#limits.maxFileBytes);
    const least = Math.max(0, declared - FORM_BYTES);
    expectRoom(await this.#files.totals(owner), least, this.#limits);
    let blob: WrittenBlob | undefined;
    try {
      const { filename, purpose } = await upload.read(async (bytes) => {
        blob = await this.#write(owner, bytes, upload.signal);
      });
      if (blob === undefined) throw new Error('The form has no file');
      const file = { owner, fileId: createFileId(), filename, purpose, blob };
      const stored = await this.#files.add(file, this.#limits);
      failpoint('file.after-create');
      return stored;
    } catch (error) {
      await this.#discard(blob, error);
      throw error;
    }
  }

  /** Throws `file_not_found`, also for another owner's file. */
  async get(owner: string, fileId: string): Promise<StoredFile> {
    const file = isFileId(fileId) ? await this.#files.get(owner, fileId) : undefined;
    if (file === undefined) throw fileNotFound(fileId);
    return file;
  }

  list(filter: FileFilter): Promise<StoredFile[]> {
    return this.#files.list(filter);
  }

  async *read({ fileId, blobId }: StoredFile, range?: BlobRange): AsyncGenerator<Uint8Array, void> {
    try {
      yield* this.#blobs.read(blobId, range, { whileAway: 'refuse' });
    } catch (error) {
      // Deleted meanwhile.
      throw error instanceof BlobGoneError ? fileNotFound(fileId) : error;
    }
  }

  async delete(owner: string, fileId: string): Promise<void> {
    const unneeded = await this.#files.delete(owner, fileId);
    failpoint('file.after-delete');
    // The file is deleted whatever becomes of its bytes: the sweep finds them.
    await this.#blobs.remove(unneeded).catch(() => {});
  }

  async #write(owner: string, bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<WrittenBlob> {
    const { maxFileBytes: maxBytes } = this.#limits;
    const used = await this.#files.totals(owner);
    const counted = this.#arriving.count(owner, bytes, (arriving) =>
      expectRoom(used, arriving, this.#limits),
    );
    try {
      return await this.#blobs.write(counted, { maxBytes, signal, whileAway: 'refuse' });
    } catch (error) {
      throw error instanceof BlobTooLargeError ? tooLarge(maxBytes) : error;
    }
  }

  /** Unless nobody knows whether the file is there: then the sweep decides. */
  async #discard(blob: WrittenBlob | undefined, error: unknown): Promise<void> {
    const isUnknown = !(error instanceof TalariaError) || error.code === 'store_unavailable';
    if (blob === undefined || isUnknown) return;
    await this.#blobs.remove([blob.blobId]).catch(() => {});
  }
}

function tooLarge(maxBytes: number): TalariaError {
  return new TalariaError('file_too_large', { message: `A file may have at most ${maxBytes} bytes here` });
}
