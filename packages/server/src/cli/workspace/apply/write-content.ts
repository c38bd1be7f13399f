import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

/** Writes a new file, and returns the sha256 of its content. */
export async function writeContent(content: AsyncIterable<Uint8Array>, path: string): Promise<string> {
  await using file = await open(path, 'wx');
  const hash = createHash('sha256');
  for await (const bytes of content) {
    hash.update(bytes);
    await file.writeFile(bytes);
  }
  return hash.digest('hex');
}
