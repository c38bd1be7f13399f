/** A journal in a temporary directory of its own, for tests. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JournalFixture } from '../../journal.contract.ts';
import { migrate } from '../migrations.ts';
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
  const path = join(directory.path, 'talaria.db');
  // Making the tables takes five times as long as all else that opens a journal.
  writeFileSync(path, newStore());
  const open = () => SqliteJournal.open({ threads: KEPT_THREADS, ...options, path });
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

let store: Buffer | undefined;

/** The file of a store with its tables and no rows. */
export function newStore(): Buffer {
  if (store !== undefined) return store;
  using directory = tempDirectory();
  const path = join(directory.path, 'talaria.db');
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  migrate(db);
  db.close();
  store = readFileSync(path);
  return store;
}
