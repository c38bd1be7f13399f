/**
 * Creates a tree from a snapshot, compressed or not, in a directory that nobody else uses yet; restore-entries.ts says how.
 */
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import type { RestoredWorkspace } from '../../snapshots.ts';
import { limited } from '../artifacts/archive.ts';
import { fileThread } from '../thread/file-thread.ts';
import { nameDamage } from './snapshot-format.ts';

/** How a compressed snapshot begins. A plain one begins with the length of a head, whose first byte is zero. */
const COMPRESSED = 0x28;

/**
 * `maxBytes` limits the unpacked snapshot; over it, the call fails with `artifact_too_large`. A small compressed snapshot may
 * unpack to any size.
 */
export async function restoreTree(
  root: string,
  snapshot: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
  maxBytes = Infinity,
): Promise<RestoredWorkspace> {
  const arriving = new PassThrough();
  const bringing = pipeline(snapshot, arriving, signal === undefined ? {} : { signal });
  // The reader gets this error.
  bringing.catch(() => {});
  try {
    return await fileThread.restore(root, limited(plainBytes(arriving), maxBytes, 'The snapshot'));
  } catch (error) {
    throw nameDamage(error);
  } finally {
    arriving.destroy();
    await bringing.catch(() => {});
  }
}

async function* plainBytes(snapshot: Readable): AsyncGenerator<Uint8Array, void> {
  const chunks: AsyncIterator<Uint8Array> = snapshot[Symbol.asyncIterator]();
  const first = await chunks.next();
  const all = resumed(first, chunks);
  yield* first.done !== true && first.value[0] === COMPRESSED ? decompressed(all) : all;
}

async function* decompressed(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const plain = createZstdDecompress();
  const unpacking = pipeline(bytes, plain);
  unpacking.catch(() => {});
  try {
    yield* plain;
  } finally {
    plain.destroy();
    await unpacking.catch(() => {});
  }
}

/** Continues an iterator after its first result. */
async function* resumed(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
}
