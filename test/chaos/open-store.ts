/** The store of a server that is down, opened by a test. */
import { join } from 'node:path';
import type { BlobStore } from '../../packages/server/src/blobs/blob-store.ts';
import type { Journal } from '../../packages/server/src/journal/journal.ts';
import { PostgresJournal } from '../../packages/server/src/journal/postgres/postgres-journal.ts';
import { SqliteJournal } from '../../packages/server/src/journal/sqlite/sqlite-journal.ts';

/** With the settings of `newStore`. */
export async function openStore(
  dataDir: string,
  { TALARIA_DATABASE_URL: url }: Record<string, string>,
): Promise<{ journal: Journal; blobs: BlobStore }> {
  if (url !== undefined) {
    const journal = await PostgresJournal.open({ url });
    return { journal, blobs: journal.blobs };
  }
  const journal = await SqliteJournal.open({ path: join(dataDir, 'talaria.db') });
  return { journal, blobs: journal.blobs };
}
