/**
 * Files that processes hold open after their last name is gone: they take space that no walk finds. What is only mapped
 * into memory is not found here either.
 */
import { readdirSync, type Stats, statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { descendantsOf } from '../../host/process-table.ts';

const BLOCK_BYTES = 512;
/** Descriptors looked at before other work gets its turn, and altogether: a command may hold very many. */
const SLICE = 500;
const MOST = 50_000;

/** Of the processes below these, on one file system. */
export async function unlinkedBytes(roots: readonly number[], device: number): Promise<number> {
  const seen = new Set<number>();
  let bytes = 0;
  let looked = 0;
  for (const pid of descendantsOf(roots)) {
    for (const fd of entriesOf(`/proc/${pid}/fd`)) {
      const file = statIfThere(`/proc/${pid}/fd/${fd}`);
      if (file?.isFile() && file.nlink === 0 && file.dev === device && !seen.has(file.ino)) {
        seen.add(file.ino);
        bytes += file.blocks * BLOCK_BYTES;
      }
      if (++looked === MOST) return bytes;
      if (looked % SLICE === 0) await nextTurn();
    }
  }
  return bytes;
}

function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
