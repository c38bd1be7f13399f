/** Creates a tree from a snapshot, in a directory that nobody else uses yet; restore-entries.ts says how. */
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import type { RestoredWorkspace } from '../../snapshots.ts';
import { limited } from '../artifacts/archive.ts';
import { fileThread } from '../thread/file-thread.ts';
import { nameDamage } from './snapshot-format.ts';

/**
 * `maxBytes`: of the unpacked snapshot; over it, it fails with `artifact_too_large`. A few bytes of a snapshot that somebody else
 * has packed can be any number of bytes on this disk.
 */
export async function restoreTree(
  root: string,
  snapshot: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
  maxBytes = Infinity,
): Promise<RestoredWorkspace> {
  const plain = createZstdDecompress();
  const unpacking = pipeline(snapshot, plain, signal === undefined ? {} : { signal });
  // It is heard of by whoever reads.
  unpacking.catch(() => {});
  try {
    return await fileThread.restore(root, limited(plain, maxBytes, 'The snapshot'));
  } catch (error) {
    throw nameDamage(error);
  } finally {
    plain.destroy();
    await unpacking.catch(() => {});
  }
}
