/** The bytes of an open file in a range, all of them or an error: never fewer, never more. */
import type { FileHandle } from 'node:fs/promises';
import { changed } from './failures.ts';

/** Large enough that the hops to the thread pool do not count, small enough for many streams at a time. */
const BLOCK_BYTES = 128 * 1024;

export async function* exactBytes(
  file: FileHandle,
  { start, end, path }: { start: number; end: number; path: string },
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void> {
  let at = start;
  while (at < end) {
    signal?.throwIfAborted();
    // A new buffer each time: the last may still be on its way to a slow reader.
    const block = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, end - at));
    const { bytesRead } = await file.read(block, 0, block.length, at);
    if (bytesRead === 0) throw changed(path);
    at += bytesRead;
    yield bytesRead === block.length ? block : block.subarray(0, bytesRead);
  }
}
