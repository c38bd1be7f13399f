/** The digest of a file, with the state in which the file had it. */
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
}

/** Undefined for what is no regular file, over the limit by now, or becomes shorter again and again. */
export function* hashFile(
  directory: number,
  name: string,
  maxBytes: number,
): Generator<undefined, HashedFile | undefined> {
  const found = openFile(directory, name);
  if (found === undefined) return undefined;
  try {
    let { stats } = found;
    for (let attempt = 1; stats.size <= maxBytes; attempt++) {
      if (stats.size >= WORTH_WAITING_BYTES) waitForClock(stats);
      const settled = Date.now() - stats.ctimeMs > CLOCK_STEP_MS;
      const sha256 = yield* digest(found.file, stats.size);
      const after = fstatSync(found.file);
      if (sha256 !== undefined && hasVersion(versionOf(stats), after)) return { sha256, stats, settled };
      // Something writes to it: then its beginning is as good as its state a moment later.
      if (sha256 !== undefined && attempt === ATTEMPTS) return { sha256, stats, settled: false };
      if (attempt === ATTEMPTS) return undefined;
      stats = after;
    }
    return undefined;
  } finally {
    closeSync(found.file);
  }
}

/** Of exactly this many bytes; undefined where there are fewer. */
function* digest(file: number, size: number): Generator<undefined, string | undefined> {
  const hash = createHash('sha256');
  for (let at = 0; at < size; ) {
    if (at > 0) yield;
    const read = readSync(file, block, 0, Math.min(block.length, size - at), at);
    if (read === 0) return undefined;
    // One call of update is over before anybody else uses the block.
    hash.update(block.subarray(0, read));
    at += read;
  }
  return hash.digest('hex');
}

const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);

function waitForClock({ ctimeMs }: Stats): void {
  const waitMs = ctimeMs + CLOCK_STEP_MS + 1 - Date.now();
  if (waitMs > 0 && waitMs <= CLOCK_STEP_MS + 1) Atomics.wait(sleeping, 0, 0, waitMs);
}

const sleeping = new Int32Array(new SharedArrayBuffer(4));
