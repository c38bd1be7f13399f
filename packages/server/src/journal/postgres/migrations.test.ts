/** Upgrades: many servers start together, and old ones meet a newer schema. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { approvalRequest, claimedRun, completed, reasoning } from '../testing/records.ts';
import { SCHEMA_VERSION } from './migrations.ts';
import { PostgresJournal } from './postgres-journal.ts';
import { type SharedPostgres, sharedPostgres } from './testing/start-postgres.ts';

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.stop());

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

it.each(['read committed', 'serializable'])(
  'servers that start together on an empty database create its tables once (%s)',
  async (isolation) => {
    const url = await postgres.createEmptyDatabase();
    const name = new URL(url).pathname.slice(1);
    await query(url, `ALTER DATABASE ${name} SET default_transaction_isolation = '${isolation}'`);
    const journals = await Promise.all(Array.from({ length: 5 }, () => PostgresJournal.open({ url })));
    expect(await query(url, 'SELECT version FROM talaria_schema')).toEqual([{ version: SCHEMA_VERSION }]);
    for (const journal of journals) await journal.close();
  },
);

it('a server refuses to start on a schema newer than it knows, and says which version to start', async () => {
  const url = await postgres.createDatabase();
  await (await PostgresJournal.open({ url })).close();
  const newer = SCHEMA_VERSION + 1;
  await query(url, `UPDATE talaria_schema SET version = ${newer}`);
  await expect(PostgresJournal.open({ url })).rejects.toThrow(
    `The database cannot be opened: it has schema ${newer}, this version of the server knows up to ${SCHEMA_VERSION}; ` +
      'start the newer version',
  );
  expect(await query(url, 'SELECT version FROM talaria_schema')).toEqual([{ version: newer }]);
});

it('a server refuses to start on a database that cannot store every character', async () => {
  const url = new URL(await postgres.createDatabase());
  await query(
    url.href,
    "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
  );
  url.pathname = '/latin';
  await expect(PostgresJournal.open({ url: url.href })).rejects.toThrow(
    'The database cannot be opened: its encoding is LATIN1, not UTF8; make it with createdb -E UTF8 -T template0',
  );
  expect(await query(url.href, "SELECT to_regclass('runs') AS runs")).toEqual([{ runs: null }]);
});

it('a running server keeps working when the schema gets newer in the ways that a step may change it', async () => {
  const url = await postgres.createDatabase();
  const journal = await PostgresJournal.open({ url });
  const before = await claimedRun(journal);
  await journal.append(before, [reasoning('before')]);

  const tables = await query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  const changes = tables.flatMap(({ tablename }) => [
    `ALTER TABLE ${tablename} ADD COLUMN added_empty text`,
    `ALTER TABLE ${tablename} ADD COLUMN added_default integer NOT NULL DEFAULT 7`,
    `CREATE INDEX ON ${tablename} (added_default)`,
  ]);
  await query(url, [...changes, 'CREATE TABLE newer (id integer)'].join(';'));
  await query(url, `UPDATE talaria_schema SET version = ${SCHEMA_VERSION + 1}`);

  await journal.append(before, [reasoning('after'), completed()]);
  const after = await claimedRun(journal);
  await journal.append(after, [completed()]);
  expect((await journal.readEvents(before.runId, -1, 10)).map(({ event }) => event)).toEqual([
    'reasoning.available',
    'reasoning.available',
    'run.completed',
  ]);
  expect((await journal.getRun(after.runId))?.state.status).toBe('completed');
  expect((await journal.checkHealth()).writable).toBe(true);
  await journal.close();
});

it('keeps grants and answers of a version that could not list them', async () => {
  const url = await postgres.createDatabase();
  const before = await PostgresJournal.open({ url });
  const claim = await claimedRun(before, { sessionId: 's' });
  const asked = approvalRequest('a', ['delete']);
  await before.append(claim, [asked]);
  await before.post(claim.runId, { kind: 'approval', choice: 'always', all: false });
  await before.close();
  await query(
    url,
    `DROP TABLE run_heads;
     DROP TRIGGER workspaces_counted ON workspaces;
     DROP FUNCTION count_disk_use;
     DROP TABLE disk_use;
     ALTER TABLE workspaces DROP COLUMN bytes, DROP COLUMN ended_at, DROP COLUMN gives_way;
     ALTER TABLE jobs DROP COLUMN retention_seconds;
     DROP TRIGGER runs_own_expiry ON runs;
     DROP FUNCTION set_own_expiry;
     ALTER TABLE runs DROP COLUMN retention_ms, DROP COLUMN kept, DROP COLUMN expires_at, DROP COLUMN evicted_for;
     DROP INDEX records_checkpoints;
     ALTER TABLE sessions DROP COLUMN files;
     DROP TABLE blobs, blob_chunks, blob_refs, files, file_totals;
     DROP TRIGGER runs_changed ON runs;
     DROP FUNCTION mark_changed_run;
     ALTER TABLE runs DROP COLUMN changed, DROP COLUMN settled;
     DROP TABLE decisions;
     ALTER TABLE grants DROP COLUMN n, DROP COLUMN id, DROP COLUMN last_used_at,
       DROP CONSTRAINT grants_owner_session_id_pattern_key_key, ADD PRIMARY KEY (owner, session_id, pattern_key);
     UPDATE talaria_schema SET version = 8`,
  );
  // As a server of that version writes it.
  const grant = `INSERT INTO grants (owner, session_id, pattern_key, created_at) VALUES ('ada', 's', 'sudo', 1)`;
  await query(url, grant);

  const journal = await PostgresJournal.open({ url });
  const { approvals } = journal;
  const { grants } = await approvals.grants({ owner: 'ada', limit: 9 });
  expect(grants.map(({ patternKey, sessionId }) => [patternKey, sessionId]).toSorted()).toEqual([
    ['delete', undefined],
    ['sudo', 's'],
  ]);
  expect(await approvals.allows('ada', 's', ['delete', 'sudo'])).toBe(true);
  // That version is still running somewhere.
  await query(url, grant.replace('sudo', 'format'));
  expect(await approvals.allows('ada', 's', ['format'])).toBe(true);
  expect((await approvals.decisions({ owner: 'ada', limit: 9 })).decisions).toMatchObject([
    { runId: claim.runId, question: asked.public, choice: 'always', answeredBy: 'ada', message: null },
  ]);
  await journal.close();
});
