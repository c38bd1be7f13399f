import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Entry } from './entry.ts';

/** A file of an archive. */
interface ArchivedFile {
  readonly mode: number;
  content(): AsyncIterable<Uint8Array>;
}

const EXECUTABLE = 0o100;

/** Reads a file of an archive, and writes its content to `copy`, where nothing may be, if that is wanted. */
export async function fileFrom(
  { mode, content }: ArchivedFile,
  copy: string | undefined,
): Promise<Extract<Entry, { type: 'file' }>> {
  await using file = copy === undefined ? undefined : await open(copy, 'wx');
  const hash = createHash('sha256');
  for await (const bytes of content()) {
    hash.update(bytes);
    await file?.writeFile(bytes);
  }
  return { type: 'file', sha256: hash.digest('hex'), executable: (mode & EXECUTABLE) !== 0 };
}
