/**
 * A file that is being downloaded: written beside its destination, and renamed when it is complete.
 *
 * - The name contains the beginning of the digest, so that an interrupted download continues only if it is of the same
 *   version.
 * - It takes its final name only if nothing has it, unless it may replace an existing file.
 */
import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';

const DIGEST_CHARS = 12;

/** A link in its place is not followed. */
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

export class PartFile implements AsyncDisposable {
  readonly path: string;
  readonly #destination: string;
  readonly #handle: FileHandle;
  readonly #hash: Hash = createHash('sha256');
  #size = 0;

  /**
   * Without a digest nobody knows which version the bytes belong to, so it starts over; also with more bytes than there
   * are.
   */
  static async open(
    destination: string,
    digest: string | undefined,
    total: number | undefined,
  ): Promise<PartFile> {
    const path = `${destination}.${digest === undefined ? '' : `${digest.slice(0, DIGEST_CHARS)}.`}part`;
    const handle = await open(path, FLAGS, 0o666);
    const part = new PartFile(path, destination, handle);
    try {
      const { size } = await handle.stat();
      if (digest === undefined || total === undefined || size > total) await handle.truncate(0);
      else await part.#takeUp();
    } catch (error) {
      await handle.close();
      throw error;
    }
    return part;
  }

  private constructor(path: string, destination: string, handle: FileHandle) {
    this.path = path;
    this.#destination = destination;
    this.#handle = handle;
  }

  get size(): number {
    return this.#size;
  }

  async write(bytes: Uint8Array): Promise<void> {
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await this.#handle.write(
        bytes,
        written,
        bytes.length - written,
        this.#size + written,
      );
      written += bytesWritten;
    }
    this.#add(bytes);
  }

  /** The digest of everything written; the last call before it is moved or removed. */
  digest(): string {
    return this.#hash.digest('hex');
  }

  async moveToPlace(replace: boolean): Promise<void> {
    await this.#handle.sync();
    // The first to create the file wins: a check before the move could be outdated by the move.
    if (!replace) await (await open(this.#destination, 'wx')).close();
    await rename(this.path, this.#destination);
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  async #takeUp(): Promise<void> {
    for await (const chunk of this.#handle.createReadStream({ start: 0, autoClose: false }))
      this.#add(chunk as Buffer);
  }

  #add(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#size += bytes.length;
  }
}
