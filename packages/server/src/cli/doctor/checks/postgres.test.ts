import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../journal/postgres/testing/start-postgres.ts';
import { checkPostgres } from './postgres.ts';

let postgres: TestPostgres;
let url: string;
beforeAll(async () => {
  postgres = await startPostgres();
  url = await postgres.createEmptyDatabase();
});
afterAll(() => postgres?.stop());

it('says of an empty database what the first start will do', async () => {
  const { status, detail } = await checkPostgres({ kind: 'postgres', url });
  expect([status, detail]).toEqual(['ok', expect.stringContaining('empty; its tables will be made')]);
});

it('says of one that is not in UTF8 how to make another', async () => {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(
    "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
  );
  await client.end();
  expect(await checkPostgres({ kind: 'postgres', url: new URL('/latin', url).href })).toEqual({
    status: 'failed',
    detail: expect.stringMatching(/: its encoding is LATIN1, not UTF8$/),
    fix: 'Another one is needed: make it with createdb -E UTF8 -T template0',
  });
});
