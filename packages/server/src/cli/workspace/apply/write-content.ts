import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

/** Writes a new file, and returns the sha256 of its content; of content over `maxBytes` only the beginning is written and counts. */
export async function writeContent(
  content: AsyncIterable<Uint8Array>,
  path: string,
  maxBytes: number,
): Promise<string> {
  await using file = await open(path, 'wx');
  const hash = createHash('sha256');
  let left = maxBytes;
  for await (const bytes of content) {
    hash.update(bytes);
    left -= bytes.length;
    // A server that sends more than it announced may never stop.
    if (left < 0) break;
    await file.writeFile(bytes);
  }
  return hash.digest('hex');
}
