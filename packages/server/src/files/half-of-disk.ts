/** Half of the disk that a directory is on, or will be on, in bytes. */
import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';

export function halfOfDisk(path: string): number {
  let existing = path;
  while (!existsSync(existing)) existing = dirname(existing);
  const { blocks, bsize } = statfsSync(existing);
  return Math.floor((blocks * bsize) / 2);
}
