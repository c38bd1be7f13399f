/** Creates a tree from a snapshot, in a directory that nobody else uses yet; restore-entries.ts says how. */
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import type { RestoredWorkspace } from '../../snapshots.ts';
import { fileThread } from '../thread/file-thread.ts';
import { nameDamage } from './snapshot-format.ts';

export async function restoreTree(
  root: string,
  snapshot: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<RestoredWorkspace> {
  const plain = createZstdDecompress();
  const unpacking = pipeline(snapshot, plain, signal === undefined ? {} : { signal });
  // It is heard of by whoever reads.
  unpacking.catch(() => {});
  try {
    return await fileThread.restore(root, plain);
  } catch (error) {
    throw nameDamage(error);
  } finally {
    plain.destroy();
    await unpacking.catch(() => {});
  }
}
