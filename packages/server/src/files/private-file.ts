/**
 * Files that only the server's user may read, wherever they are: databases hold transcripts and secrets. SQLite gives
 * the files it creates beside a database the permissions of the database, so those are set before it is opened.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const PRIVATE = 0o600;
const OTHERS = 0o077;

/** The files that SQLite keeps beside a database. A killed process leaves them. */
const BESIDE = ['-wal', '-shm', '-journal'];

/**
 * Creates the file unless it exists, and removes everybody else's permissions. If it cannot be created, SQLite says
 * why.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'a', PRIVATE));
  } catch {
    return;
  }
  for (const each of [path, ...BESIDE.map((ending) => path + ending)]) takeFromOthers(each);
}

/** Why other users might access the files of a directory, as a sentence; undefined if they cannot. */
export function whyNotPrivate(path: string): string | undefined {
  const directory = dirname(path);
  const rights = statSync(directory).mode & OTHERS;
  if (rights === 0) return undefined;
  const what = (rights & 0o022) === 0 ? 'is open to' : 'can be written by';
  return `${directory}, which holds the database, ${what} other users of this machine: chmod 700 ${directory}`;
}

function takeFromOthers(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats || (stats.mode & OTHERS) === 0) return;
  try {
    chmodSync(path, PRIVATE);
  } catch (error) {
    // The file belongs to somebody else, who lets this server use it; `doctor` reports that.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}
