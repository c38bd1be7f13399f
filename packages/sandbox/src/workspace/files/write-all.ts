import type { FileHandle } from 'node:fs/promises';

/** Writes at the handle's position; one write may accept only a part. */
export async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const result = await handle.write(bytes, written, bytes.length - written);
    written += result.bytesWritten;
  }
}
