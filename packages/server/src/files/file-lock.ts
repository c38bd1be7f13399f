/**
 * Keeps two servers from using one file or directory.
 *
 * The lock is an open exclusive transaction on a separate SQLite file: the operating system holds it and releases it
 * when the process dies, however it dies. A pid file would need a guess about a pid that another process may have by
 * now. A database cannot be its own lock, because its reader and its writer are two connections to it.
 */
import { DatabaseSync } from 'node:sqlite';
import { makePrivate } from './private-file.ts';

export interface FileLock {
  release(): void;
}

/** Throws an error with the message `inUse` when another process holds the lock. */
export function lockFile(path: string, inUse: string): FileLock {
  makePrivate(path);
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (error instanceof Error && /locked|busy/i.test(error.message))
      throw new Error(inUse, { cause: error });
    throw error;
  }
  return { release: () => db.close() };
}
