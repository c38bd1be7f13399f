/**
 * The store of the servers under test. The vitest project decides which one it is (see vitest.config.ts): SQLite, or a
 * new database in the one Postgres that is started for the whole project.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export function isOnPostgres(): boolean {
  return inject('postgresUrl') !== undefined;
}

/** The settings of a server on a new, empty store. */
export async function newStore(): Promise<Record<string, string>> {
  const url = inject('postgresUrl');
  if (url === undefined) return {};
  const name = `test_${randomUUID().replaceAll('-', '_')}`;
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${name} STRATEGY file_copy`);
  } finally {
    await client.end();
  }
  return { TALARIA_DATABASE_URL: Object.assign(new URL(url), { pathname: name }).href };
}
