/** A file of a workspace, open for reading. Its size is the one it had when it was opened. */
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ArtifactFile } from '../../artifacts.ts';
import { type Digests, hashFile, versionOf } from './digests.ts';
import { exactBytes } from './exact-bytes.ts';
import { changed } from './failures.ts';

export class LocalArtifactFile implements ArtifactFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: number;
  readonly #file: FileHandle;
  readonly #stats: BigIntStats;
  readonly #digests: Digests;

  constructor(path: string, file: FileHandle, stats: BigIntStats, digests: Digests) {
    this.path = path;
    this.size = Number(stats.size);
    this.modifiedAt = Number(stats.mtimeMs) / 1000;
    this.#file = file;
    this.#stats = stats;
    this.#digests = digests;
  }

  sha256(signal?: AbortSignal): Promise<string> {
    return this.#digests.of(this.#file, this.#stats, this.path, signal);
  }

  stream(
    { start, end } = { start: 0, end: this.size },
    { sha256 }: { sha256?: string | undefined } = {},
  ): Readable {
    const stream = Readable.from(this.#verified(start, end, sha256), { objectMode: false });
    // Not in the generator: one that was never started runs no `finally`.
    stream.once('close', () => void this.#file.close());
    return stream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  /** Holds the last block back until the file is known to be unchanged: without it the answer cannot look complete. */
  async *#verified(start: number, end: number, sha256: string | undefined): AsyncGenerator<Buffer> {
    let last: Buffer | undefined;
    for await (const block of exactBytes(this.#file, { start, end, path: this.path })) {
      if (last) yield last;
      last = block;
    }
    if (sha256 !== undefined && !(await this.#stillHas(sha256))) throw changed(this.path);
    if (last) yield last;
  }

  async #stillHas(sha256: string): Promise<boolean> {
    const now = await this.#file.stat({ bigint: true });
    if (versionOf(now) === versionOf(this.#stats)) return true;
    // A log that only grew still begins with the same bytes.
    return now.size >= this.#stats.size && (await hashFile(this.#file, this.size, this.path)) === sha256;
  }
}
