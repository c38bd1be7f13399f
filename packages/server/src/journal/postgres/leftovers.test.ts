/** Very long runs and sessions are deleted and copied without making anybody else wait. */
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { claimedRun, completed, delta, finishedRun, HEADS_KEPT } from '../testing/records.ts';
import { PostgresJournal } from './postgres-journal.ts';
import { type SharedPostgres, sharedPostgres } from './testing/start-postgres.ts';

const LONG = 5_000;

let postgres: SharedPostgres;
let url: string;
let journal: PostgresJournal;
let direct: pg.Client;

beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.stop());

beforeEach(async () => {
  url = await postgres.createDatabase();
  journal = await PostgresJournal.open({ url });
  direct = new pg.Client(url);
  await direct.connect();
});
afterEach(async () => {
  await direct.end();
  await journal.close();
});

async function longRun(): Promise<string> {
  const deltas = Array.from({ length: LONG }, (_, i) => delta(`${i}`));
  return finishedRun(journal, {}, ...deltas, completed());
}

const turn = { messages: [{ role: 'user', content: 'hi' } as const], replaces: false };

async function longSession(name: string): Promise<void> {
  const claim = await claimedRun(journal, { sessionId: name });
  const messages = Array.from({ length: LONG }, () => turn.messages[0]!);
  await journal.append(claim, [completed()], { turn: { messages, replaces: false } });
}

async function countRows(table: string): Promise<number> {
  const { rows } = await direct.query(`SELECT count(*)::integer AS n FROM ${table}`);
  return rows[0].n;
}

/** Records every deletion from the table with its transaction and size. */
async function noteDeletions(table: string): Promise<() => Promise<number[]>> {
  await direct.query(`
    CREATE TABLE deletions (xid xid8, rows bigint);
    CREATE FUNCTION note_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO deletions SELECT pg_current_xact_id(), count(*) FROM gone; RETURN NULL; END $$;
    CREATE TRIGGER note_deletion AFTER DELETE ON ${table} REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION note_deletion();`);
  return async () => {
    const { rows } = await direct.query('SELECT sum(rows)::integer AS n FROM deletions GROUP BY xid');
    return rows.map(({ n }) => n);
  };
}

it('deletes the records of a long run in several small transactions', async () => {
  const sizes = await noteDeletions('records');
  const runId = await longRun();
  await journal.evict([runId], HEADS_KEPT);
  expect(await countRows('records')).toBe(0);
  expect(await countRows('leftovers')).toBe(0);
  const deleted = await sizes();
  expect(deleted.length).toBeGreaterThan(3);
  expect(Math.max(...deleted)).toBeLessThanOrEqual(1_000);
});

it('deletes many short runs in few transactions', async () => {
  const sizes = await noteDeletions('records');
  const runIds: string[] = [];
  for (let i = 0; i < 10; i++) runIds.push(await finishedRun(journal));
  await journal.evict(runIds, HEADS_KEPT);
  expect(await countRows('records')).toBe(0);
  expect(await sizes()).toHaveLength(1);
});

it('a run that is being evicted is gone at once, and other runs continue', async () => {
  const evicted = await longRun();
  const working = await claimedRun(journal);
  // The eviction cannot end while another transaction holds a record of the run.
  await direct.query('BEGIN; SELECT 1 FROM records WHERE pos = 0 FOR UPDATE');
  const evicting = journal.evict([evicted], HEADS_KEPT);
  await expect.poll(() => journal.getRun(evicted)).toBeUndefined();
  await expect(journal.readEvents(evicted, -1, 10)).rejects.toMatchObject({ code: 'run_not_found' });
  expect(await journal.append(working, [delta('still')])).toHaveLength(1);
  await direct.query('ROLLBACK');
  await evicting;
  expect((await journal.readEvents(working.runId, -1, 10)).map(({ event }) => event)).toEqual([
    'message.delta',
  ]);
});

it('the next sweep of another server clears what a dead server left', async () => {
  await finishedRun(journal);
  await direct.query(`
    INSERT INTO leftovers SELECT 'run', n, next_pos FROM runs;
    DELETE FROM runs`);
  await journal.evict([], HEADS_KEPT);
  expect(await countRows('records')).toBe(0);
  expect(await countRows('leftovers')).toBe(0);
});

it('servers that evict the same runs at once all finish, and one head of each stays', async () => {
  const others = await Promise.all([PostgresJournal.open({ url }), PostgresJournal.open({ url })]);
  const runIds = [await longRun()];
  for (let i = 0; i < 30; i++) runIds.push(await finishedRun(journal));
  await Promise.all([journal, ...others].map((server) => server.evict(runIds, HEADS_KEPT)));
  await journal.evict([], HEADS_KEPT);
  expect(await countRows('runs')).toBe(0);
  expect(await countRows('records')).toBe(0);
  expect(await countRows('run_heads')).toBe(runIds.length);
  await Promise.all(others.map((server) => server.close()));
});

it('skips leftovers that another server holds', async () => {
  const [first, second, held, removed] = [
    await finishedRun(journal),
    await finishedRun(journal),
    await finishedRun(journal),
    await finishedRun(journal),
  ];
  await direct.query(
    `WITH gone AS (DELETE FROM runs WHERE run_id = ANY ($1) RETURNING n, next_pos)
     INSERT INTO leftovers SELECT 'run', n, next_pos FROM gone`,
    [[first, second]],
  );
  await direct.query('BEGIN; SELECT 1 FROM leftovers ORDER BY n LIMIT 1 FOR UPDATE');
  await direct.query('SELECT 1 FROM runs WHERE run_id = $1 FOR UPDATE', [held]);
  await journal.evict([held, removed], HEADS_KEPT);
  expect(await countRows('leftovers')).toBe(1);
  expect(await journal.getRun(held)).toBeDefined();
  expect(await journal.getRun(removed)).toBeUndefined();
});

it('deletes the messages of a long session in small transactions', async () => {
  const sizes = await noteDeletions('session_messages');
  await longSession('s');
  await journal.sessions.delete('ada', 's');
  expect(await journal.sessions.get('ada', 's')).toBeUndefined();
  await journal.evict([], HEADS_KEPT);
  expect(await countRows('session_messages')).toBe(0);
  expect(Math.max(...(await sizes()))).toBeLessThanOrEqual(1_000);
});

it('runs add to a session while it is forked', async () => {
  await longSession('s');
  const claim = await claimedRun(journal, { sessionId: 's' });
  // The fork locks its source and waits for the name it wants.
  await direct.query(`BEGIN;
    INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns)
    VALUES ('ada', 'f', 0, 0, 0, 0, 0, 0)`);
  const forking = journal.sessions.fork({ owner: 'ada', from: 's', into: 'f' });
  await expect.poll(isAnyoneWaiting).toBe(true);
  await journal.append(claim, [completed()], { turn });
  await direct.query('ROLLBACK');
  expect((await forking).nextPos).toBe(LONG);
  expect((await journal.sessions.get('ada', 's'))?.nextPos).toBe(LONG + 1);
});

async function isAnyoneWaiting(): Promise<boolean> {
  const { rows } = await direct.query('SELECT 1 FROM pg_locks WHERE NOT granted');
  return rows.length > 0;
}
