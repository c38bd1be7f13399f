/** Starts the Postgres that all tests of a vitest project share, each with a database of its own. */
import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Absent where the servers under test are on SQLite. */
    postgresUrl: string | undefined;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres();
  project.provide('postgresUrl', await postgres.createEmptyDatabase());
  return () => postgres.stop();
}
