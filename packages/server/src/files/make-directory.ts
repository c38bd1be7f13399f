/**
 * Creates a directory and its parents, readable by this user only. It is hand-written because Node's `recursive` never
 * returns where the system says that an existing parent does not exist, as under /proc.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const MODE = 0o700;

export function makeDirectory(path: string): void {
  if (existsSync(path)) {
    if (statSync(path).isDirectory()) return;
    throw Object.assign(new Error(`ENOTDIR: ${path} is not a directory`), { code: 'ENOTDIR', path });
  }
  makeDirectory(dirname(path));
  try {
    mkdirSync(path, { mode: MODE });
  } catch (error) {
    // Another process may have created it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
