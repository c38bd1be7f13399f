/**
 * The sha256 of files, each computed once for as long as the file does not change.
 *
 * A file is identified by its inode, its size and its change time, which no command can set. Times have the resolution
 * of a clock tick, so the digest of a file that changed just now is not cached: it could change again within the tick.
 * Concurrent requests for the same file share one read, which stops when nobody needs it any more.
 */
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { exactBytes } from './exact-bytes.ts';
import { changed } from './failures.ts';

const KEPT = 10_000;
const SETTLED_NS = 2_000_000_000n;

interface Reading {
  digest: Promise<string>;
  stop: AbortController;
  waiting: number;
}

export class Digests {
  readonly #known = new Map<string, string>();
  readonly #readings = new Map<string, Reading>();

  /** The digest of the first `stats.size` bytes. */
  async of(file: FileHandle, stats: BigIntStats, path: string, signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted();
    const version = versionOf(stats);
    const known = this.#known.get(version);
    if (known !== undefined) return known;
    const reading = this.#readings.get(version) ?? this.#start(file, stats, path);
    reading.waiting++;
    let leave = (): void => {};
    try {
      const left = new Promise<never>((_, reject) => {
        leave = () => reject(signal?.reason);
        signal?.addEventListener('abort', leave, { once: true });
      });
      return await Promise.race([reading.digest, left]);
    } finally {
      signal?.removeEventListener('abort', leave);
      if (--reading.waiting === 0) this.#end(version, reading);
    }
  }

  #start(file: FileHandle, stats: BigIntStats, path: string): Reading {
    const version = versionOf(stats);
    const stop = new AbortController();
    const settled = BigInt(Date.now()) * 1_000_000n - stats.ctimeNs > SETTLED_NS;
    const read = async (): Promise<string> => {
      // A descriptor of its own: the first caller may close its file before the others have their answer, and the number may
      // soon refer to another file.
      await using own = await open(`/proc/self/fd/${file.fd}`, 'r');
      const { dev, ino } = await own.stat({ bigint: true });
      if (dev !== stats.dev || ino !== stats.ino) throw changed(path);
      const digest = await hashFile(own, Number(stats.size), path, stop.signal);
      if (settled && versionOf(await own.stat({ bigint: true })) === version) this.#keep(version, digest);
      return digest;
    };
    const reading = { digest: read(), stop, waiting: 0 };
    reading.digest.catch(() => {});
    this.#readings.set(version, reading);
    return reading;
  }

  /** Nobody waits for it any more; the next request starts another. */
  #end(version: string, reading: Reading): void {
    reading.stop.abort();
    if (this.#readings.get(version) === reading) this.#readings.delete(version);
  }

  #keep(version: string, digest: string): void {
    const oldest = this.#known.keys().next().value;
    if (this.#known.size >= KEPT && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(version, digest);
  }
}

export function versionOf({ dev, ino, size, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${ctimeNs}`;
}

export async function hashFile(
  file: FileHandle,
  size: number,
  path: string,
  signal?: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256');
  for await (const block of exactBytes(file, { start: 0, end: size, path }, signal)) hash.update(block);
  return hash.digest('hex');
}
