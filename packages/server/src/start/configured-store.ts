/** The configured store: a journal, and the bytes that it refers to. */
import type { BlobStore } from '../blobs/blob-store.ts';
import { type Config, describeDatabase } from '../config/index.ts';
import { whyNotPrivate } from '../files/private-file.ts';
import type { Journal } from '../journal/journal.ts';
import { SqliteJournal } from '../journal/sqlite/sqlite-journal.ts';
import type { Report } from '../telemetry/facts.ts';

export interface Store {
  journal: Journal;
  blobs: BlobStore;
}

export interface StoreOptions {
  /** The name under which this server claims runs. */
  serverId: string;
  report: Report;
  /** Called when the store has failed for good: no write will succeed. */
  onFatal(error: Error): void;
}

export async function openConfiguredStore(
  { database }: Pick<Config, 'database'>,
  { serverId, report, onFatal }: StoreOptions,
): Promise<Store> {
  if (database.kind === 'sqlite') {
    const journal = await SqliteJournal.open({ path: database.path, report, onFatal });
    return { journal, blobs: journal.blobs };
  }
  // Most servers do not need it, so it is loaded only if configured.
  const { PostgresJournal } = await import('../journal/postgres/postgres-journal.ts');
  const opening = PostgresJournal.open({ url: database.url, worker: serverId, report });
  const journal = await opening.catch((error: Error) => {
    const named = `TALARIA_DATABASE_URL names ${describeDatabase(database)}`;
    throw new Error(`${error.message}; ${named}`, { cause: error });
  });
  return { journal, blobs: journal.blobs };
}

export function storeName({ database }: Pick<Config, 'database'>): string {
  return `${database.kind === 'sqlite' ? 'SQLite' : 'Postgres'}, ${describeDatabase(database)}`;
}

/** What an operator should know about the store. */
export function storeWarnings({ database }: Pick<Config, 'database'>): string[] {
  const open = database.kind === 'sqlite' ? whyNotPrivate(database.path) : undefined;
  return open === undefined ? [] : [open];
}
