import { afterAll, beforeAll } from 'vitest';
import { describeJournalContract } from '../journal-contract.ts';
import { PostgresJournal } from './postgres-journal.ts';
import { startPostgres, type TestPostgres } from './testing.ts';

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.stop());

describeJournalContract('postgres', async ({ now }) => {
  const url = await postgres.createDatabase();
  let journal = await PostgresJournal.open({ url, now });
  return {
    get journal() {
      return journal;
    },
    async reopen() {
      await journal.close();
      journal = await PostgresJournal.open({ url, now });
      return journal;
    },
    async dispose() {
      await journal.close();
    },
  };
});
