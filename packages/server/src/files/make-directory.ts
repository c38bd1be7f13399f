/**
 * Makes a directory and its parents, readable by this user alone. By hand, because Node's `recursive` never returns
 * where the system says of an existing parent that it does not exist, as it does under /proc.
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
    // Somebody else may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
