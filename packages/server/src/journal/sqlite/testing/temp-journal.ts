/** A journal in a temporary directory of its own, for tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JournalFixture } from '../../journal.contract.ts';
import { SqliteJournal, type SqliteJournalOptions } from '../sqlite-journal.ts';
import { KEPT_THREADS } from './kept-threads.ts';

export interface TempDirectory extends Disposable {
  path: string;
}

export function tempDirectory(): TempDirectory {
  const path = mkdtempSync(join(tmpdir(), 'talaria-journal-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export async function openTempJournal(
  options: Omit<SqliteJournalOptions, 'path'> = {},
): Promise<JournalFixture> {
  const directory = tempDirectory();
  const open = () =>
    SqliteJournal.open({ threads: KEPT_THREADS, ...options, path: join(directory.path, 'talaria.db') });
  let journal = await open();
  return {
    journal,
    get blobs() {
      return journal.blobs;
    },
    async reopen() {
      await journal.close();
      journal = await open();
      return journal;
    },
    async dispose() {
      await journal.close();
      directory[Symbol.dispose]();
    },
  };
}
