/** The digest of a file, and its content if it is small, with the state of the file at that time. */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, readSync, type Stats } from 'node:fs';
import { hasVersion, versionOf } from './captured-tree.ts';
import { openFile } from './open-by-name.ts';

/** The kernel's clock for files advances in steps of up to this many ms. Two changes within one step look like one. */
const CLOCK_STEP_MS = 10;
/** Reading such a file again, only because it is new, would take longer than a step of the clock. */
const WORTH_WAITING_BYTES = 4 * 1024 * 1024;
const BLOCK_BYTES = 1024 * 1024;
const ATTEMPTS = 3;

export interface HashedFile {
  sha256: string;
  stats: Stats;
  /** Whether the clock had advanced since the last change when reading began. */
  settled: boolean;
  content: Uint8Array | undefined;
}

export interface HashOptions {
  maxBytes: number;
  /** The content of a file of at most this size is returned, too. */
  contentBytes: number;
}

/** Undefined if it is not a regular file, is over the limit now, or becomes shorter again and again. */
export function* hashFile(
  directory: number,
  name: string,
  { maxBytes, contentBytes }: HashOptions,
): Generator<undefined, HashedFile | undefined> {
  const found = openFile(directory, name);
  if (found === undefined) return undefined;
  try {
    let { stats } = found;
    for (let attempt = 1; stats.size <= maxBytes; attempt++) {
      if (stats.size >= WORTH_WAITING_BYTES) waitForClock(stats);
      const settled = Date.now() - stats.ctimeMs > CLOCK_STEP_MS;
      const digested = yield* digest(found.file, stats.size, contentBytes);
      const after = fstatSync(found.file);
      if (digested !== undefined && hasVersion(versionOf(stats), after))
        return { ...digested, stats, settled };
      // A process writes to it: then its beginning is as good as its state a moment later.
      if (digested !== undefined && attempt === ATTEMPTS) return { ...digested, stats, settled: false };
      if (attempt === ATTEMPTS) return undefined;
      stats = after;
    }
    return undefined;
  } finally {
    closeSync(found.file);
  }
}

/** The digest of the first `size` bytes; undefined if the file has fewer. */
function* digest(
  file: number,
  size: number,
  contentBytes: number,
): Generator<undefined, Pick<HashedFile, 'sha256' | 'content'> | undefined> {
  const hash = createHash('sha256');
  const content = size > 0 && size <= contentBytes ? Buffer.allocUnsafeSlow(size) : undefined;
  for (let at = 0; at < size; ) {
    if (at > 0) yield;
    const read = readSync(file, block, 0, Math.min(block.length, size - at), at);
    if (read === 0) return undefined;
    // One call of update is over before anybody else uses the block.
    hash.update(block.subarray(0, read));
    if (content) block.copy(content, at, 0, read);
    at += read;
  }
  return { sha256: hash.digest('hex'), content };
}

const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);

function waitForClock({ ctimeMs }: Stats): void {
  const waitMs = ctimeMs + CLOCK_STEP_MS + 1 - Date.now();
  if (waitMs > 0 && waitMs <= CLOCK_STEP_MS + 1) Atomics.wait(sleeping, 0, 0, waitMs);
}

const sleeping = new Int32Array(new SharedArrayBuffer(4));
