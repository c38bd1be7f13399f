/**
 * Creates a directory and its parents, readable by this user only. It is hand-written because Node's `recursive` never
 * returns where the system says that an existing parent does not exist, as under /proc.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

const MODE = 0o700;

export function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  try {
    mkdirSync(path, { mode: MODE });
  } catch (error) {
    // Another process may have created it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
