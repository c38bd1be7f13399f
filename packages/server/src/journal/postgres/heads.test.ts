/** Heads of evicted runs, while several servers work on the same rows. */
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { finishedRun, HEADS_KEPT } from '../testing/records.ts';
import { PostgresJournal } from './postgres-journal.ts';
import { type SharedPostgres, sharedPostgres } from './testing/start-postgres.ts';

let postgres: SharedPostgres;
let journal: PostgresJournal;
let direct: pg.Client;

beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.stop());

beforeEach(async () => {
  const url = await postgres.createDatabase();
  journal = await PostgresJournal.open({ url });
  direct = new pg.Client(url);
  await direct.connect();
});
afterEach(async () => {
  await direct.end();
  await journal.close();
});

const listed = async () =>
  (await journal.listRuns({ owner: 'ada', limit: 10 })).runs.map(({ runId }) => runId);

it('a session that is deleted while another server evicts its run takes the head along', async () => {
  const runId = await finishedRun(journal, { sessionId: 's' });
  // As the other server does it, up to its commit.
  await direct.query('BEGIN');
  await direct.query(
    `WITH gone AS (DELETE FROM runs RETURNING *)
     INSERT INTO run_heads (n, run_id, owner, session_id, status, created_at, updated_at, finished_at, next_seq, state)
     SELECT n, run_id, owner, session_id, status, created_at, updated_at, finished_at, next_seq, state FROM gone`,
  );
  const deleted = journal.sessions.delete('ada', 's');
  await expect
    .poll(async () => {
      const { rows } = await direct.query(
        "SELECT count(*)::integer AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
      );
      return rows[0].waiting;
    })
    .toBe(1);
  expect(await listed()).toEqual([runId]);
  await direct.query('COMMIT');
  await deleted;
  expect(await listed()).toEqual([]);
});

it('a run whose session is being deleted is evicted later, without a head', async () => {
  const runId = await finishedRun(journal, { sessionId: 's' });
  await direct.query('BEGIN');
  await direct.query('UPDATE runs SET session_gone = true');
  await journal.evict([runId], HEADS_KEPT);
  expect(await listed()).toEqual([runId]);
  await direct.query('COMMIT');
  await journal.evict([runId], HEADS_KEPT);
  expect(await listed()).toEqual([]);
});

it('the sweep passes over heads that another server is deleting', async () => {
  const runIds = [await finishedRun(journal), await finishedRun(journal)];
  await journal.evict(runIds, HEADS_KEPT);
  await direct.query('BEGIN');
  await direct.query('SELECT 1 FROM run_heads WHERE run_id = $1 FOR UPDATE', [runIds[0]]);
  expect(await journal.heads.sweep(0, 10)).toBe(1);
  await direct.query('ROLLBACK');
  expect(await listed()).toEqual([runIds[0]]);
  expect(await journal.heads.sweep(0, 10)).toBe(1);
});
