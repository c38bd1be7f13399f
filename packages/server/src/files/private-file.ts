/**
 * Files that nobody but the server's user may read, wherever they lie: databases hold transcripts and secrets. SQLite
 * gives what it makes beside a database the rights of the database, so those are set before it is opened.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const PRIVATE = 0o600;
const OTHERS = 0o077;

/** What SQLite keeps beside a database. One that was killed leaves them. */
const BESIDE = ['-wal', '-shm', '-journal'];

/**
 * Makes the file unless it is there, and takes from everybody else what they may do with it. Where it cannot be made,
 * SQLite says why.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'a', PRIVATE));
  } catch {
    return;
  }
  for (const each of [path, ...BESIDE.map((ending) => path + ending)]) takeFromOthers(each);
}

/** Why others might get at the files of a directory, in a sentence; undefined where they cannot. */
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
    // It is somebody else's, who has let this server use it; `doctor` tells.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}
