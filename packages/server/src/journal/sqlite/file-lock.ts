/**
 * Keeps two servers off one database file.
 *
 * The lock is an open exclusive transaction on a SQLite file of its own: the operating system holds it and
 * takes it back when the process dies, however it dies. A pid file would need a guess about a pid that may
 * have been given to another process. The database itself cannot be locked so, since the reader and the writer
 * are two connections to it.
 */
import { DatabaseSync } from 'node:sqlite';

export interface FileLock {
  release(): void;
}

export function lockFile(path: string): FileLock {
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) throw new FileLockedError();
    throw error;
  }
  return { release: () => db.close() };
}

export class FileLockedError extends Error {
  override readonly name = 'FileLockedError';
}
