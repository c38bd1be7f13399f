/** Moves a server's store from SQLite to Postgres, with everything in progress, and continues there. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SessionMessageList } from '@talaria/protocol';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type SharedPostgres,
  sharedPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { spawnTalaria, talaria } from '../cli/talaria.ts';
import type { Api } from '../support/api.ts';
import type { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import {
  endsAs,
  names,
  ofKind,
  ServerWithModel,
  shownText,
  terminal,
  waitForApproval,
} from './server-with-model.ts';

const PASSWORD = 's3cret-word';

let postgres: SharedPostgres;
let url: string;

beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.stop());
beforeEach(async () => {
  url = await postgres.createEmptyDatabase();
});

const fileOf = ({ server }: ServerWithModel) => join(server.dataDir, 'talaria.db');

function migrateStore(world: ServerWithModel, ...flags: string[]) {
  return talaria('', ['migrate-store', '--from', fileOf(world), '--to', url, ...flags]);
}

/** The command dies at this moment as by `kill -9`; without one it runs to its end. */
async function migrateUntil(world: ServerWithModel, failpoint: string): Promise<void> {
  const { child, ended } = spawnTalaria('', ['migrate-store', '--from', fileOf(world), '--to', url], {
    env: { TALARIA_FAILPOINTS: failpoint },
  });
  const { stdout } = await ended;
  expect({ stdout, signal: child.signalCode }).toEqual({ stdout: '', signal: 'SIGKILL' });
}

async function say(api: Api, input: string, fields: Record<string, unknown>): Promise<string> {
  const runId = await api.create(input, fields);
  await endsAs(api, runId, 'run.completed');
  return runId;
}

/** A dozen processes, one after the other, on a machine that may be busy. */
const MANY_STARTS_MS = 90_000;

const NAME = 'everything continues where it was, though the server and the move were killed';
test(NAME, { timeout: MANY_STARTS_MS }, () => moves([]));
test(`${NAME} again and again`, { timeout: MANY_STARTS_MS, tags: ['soak'] }, () =>
  moves(['move.after-batch@4', 'move.after-copy', 'move.before-verified']),
);

/**
 * The move is killed at its first batch, and then at each of these moments. With none of them the server does not try the
 * half of a store, and the command not the whole: move-store.test.ts shows what they find.
 */
async function moves(moments: readonly string[]): Promise<void> {
  await using world = await ServerWithModel.startProcess({ TALARIA_WEBHOOK_ALLOW_PRIVATE: 'true' });
  await using receiver = await WebhookReceiver.start(503);
  const { api, model } = world;
  const keyed = { input: script([{ text: 'only once' }]) };
  const headers = { 'idempotency-key': 'a-key' };
  const first = await api.create(keyed.input, {}, headers);
  const { frames: firstFrames } = await endsAs(api, first, 'run.completed');
  const earlier = await say(api, script([{ text: 'I will remember.' }]), { session_id: 'talk' });
  const announced = await say(api, script([{ text: 'announced' }]), {
    webhook: { url: receiver.url, secret: 'the secret of the run itself' },
  });
  await waitFor('the receiver to have refused', async () => receiver.received.length > 0);
  const asking = await api.create(
    script([{ tools: [terminal('rm -rf build; echo gone')] }, { text: 'asked' }]),
  );
  const { request_id } = await waitForApproval(api, asking);
  const gate = `gate-${randomUUID()}`;
  const working = await api.create(
    script([
      { text: 'Begun. ', tools: [terminal('echo kept > file')] },
      { gate, tools: [terminal('cat file')] },
      { text: 'Done.' },
    ]),
  );
  await model.waitingAt(gate);
  const seen = await api.stream(working, { until: ({ event }) => event.event === 'tool.completed' });
  const job = { name: 'nightly', schedule: 'every 1h', prompt: script([{ text: 'fired' }]) };
  const { body: created } = await api.post<{ job: { id: string } }>('/api/jobs', job);
  const page = await api.list('?limit=2');
  const rest = await api.list(`?limit=10&after=${page.next_cursor}`);

  await world.server.kill('SIGKILL');
  model.open(gate);
  {
    // It becomes due while no server is running.
    using db = new DatabaseSync(fileOf(world));
    db.exec('UPDATE jobs SET next_run_at = 1');
  }
  await migrateUntil(world, 'move.after-batch');
  if (moments.length > 0) {
    expect((await world.server.startAndExit({ TALARIA_DATABASE_URL: url })).code).toBe(1);
    // The password of the database is masked, also where it is the name of a command.
    expect(world.server.errors).toMatch(/Run the same \S+ migrate-store command again/);
  }
  for (const moment of moments) await migrateUntil(world, moment);
  const { code, stdout } = await migrateStore(world, '--json');
  expect(code).toBe(0);
  const { verified, rows, tables } = JSON.parse(stdout);
  expect([verified, rows > 20]).toEqual([true, true]);
  expect(tables.map(({ table }: { table: string }) => table)).toContain('records');
  if (moments.length > 0) {
    const again = await migrateStore(world);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('moved and compared before')]);
  }

  receiver.behaviour = 204;
  await world.server.start({ TALARIA_DATABASE_URL: url });
  const moved = world.api;
  expect(await moved.list(`?limit=10&after=${page.next_cursor}`)).toMatchObject({
    data: rest.data.map(({ run_id }) => ({ run_id })),
  });
  const replayed = await moved.request<{ run_id: string }>('POST', '/v1/runs', { body: keyed, headers });
  expect([replayed.status, replayed.body.run_id]).toEqual([202, first]);
  expect((await moved.stream(first)).frames).toEqual(firstFrames);

  const { frames } = await moved.stream(working, { after: seen.frames.at(-1)!.event.seq });
  expect(frames.map(({ id }) => Number(id))).toEqual(frames.map((_, i) => seen.frames.length + i));
  expect(names(frames).at(-1)).toBe('run.completed');
  expect(ofKind(frames, 'run.resumed').map((event) => 'workspace_lost' in event)).toEqual([false]);
  expect(shownText([...seen.frames, ...frames])).toBe('Begun. Done.');
  expect(ofKind(frames, 'tool.completed')).toMatchObject([{ error: false, exit_code: 0 }]);

  expect((await moved.approve(asking, 'once', { request_id })).status).toBe(200);
  await endsAs(moved, asking, 'run.completed');

  const later = await say(moved, script([{ text: 'And I do.' }]), { session_id: 'talk' });
  const { body } = await moved.get<SessionMessageList>('/api/sessions/talk/messages');
  expect(body.data.map(({ run_id }) => run_id)).toEqual([earlier, earlier, later, later]);

  await waitFor('the job to have run', async () => {
    const { data } = await moved.list();
    return data.some(({ output }) => output === 'fired');
  });
  const { body: after } = await moved.get<{ job: { repeat: { completed: number } } }>(
    `/api/jobs/${created.job.id}`,
  );
  expect(after.job.repeat.completed).toBe(1);
  await waitFor('the message to be sent', async () => (await moved.run(announced)).webhook?.delivered === 1);
}

describe('the command', () => {
  let world: ServerWithModel<HostedServer>;
  beforeEach(async () => {
    world = await ServerWithModel.start();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  // move-store.test.ts shows each refusal without the command.
  test('refuses a store that a server uses, and one that is not empty', { tags: ['soak'] }, async () => {
    const inUse = await migrateStore(world);
    expect([inUse.code, inUse.stderr]).toEqual([
      1,
      expect.stringContaining('is in use by a server: stop it first'),
    ]);
    await say(world.api, script([{ text: 'here' }]), {});
    await world.server.restart({ TALARIA_DATABASE_URL: url });
    const target = await migrateStore(world, '--json');
    expect([target.code, JSON.parse(target.stderr).error.message]).toEqual([
      1,
      expect.stringContaining('The target is in use: stop its servers first'),
    ]);
    await say(world.api, script([{ text: 'there' }]), {});
    await world.server.stop();
    expect((await migrateStore(world)).stderr).toContain('The target is not empty');
  });

  test('stops at Ctrl-C, shows its progress, and continues from there', async () => {
    await say(world.api, script([{ text: 'here' }]), {});
    await world.server.stop();
    await migrateUntil(world, 'move.after-batch');
    const client = new pg.Client(url);
    await client.connect();
    // Blocks the next batch until the signal has arrived.
    await client.query('BEGIN; LOCK TABLE store_move IN EXCLUSIVE MODE');
    const { child, ended } = spawnTalaria('', ['migrate-store', '--from', fileOf(world), '--to', url]);
    await waitFor(
      'the command to wait',
      async () => (await client.query('SELECT 1 FROM pg_locks WHERE NOT granted')).rows.length > 0,
      25_000,
    );
    child.kill('SIGINT');
    await client.query('COMMIT');
    await client.end();
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([
      130,
      expect.stringMatching(/Interrupted at copying, \d+%; the same command continues from there/),
    ]);
    expect((await migrateStore(world)).code).toBe(0);
  });

  test('shows no password, whatever goes wrong', async () => {
    await world.server.stop();
    const { host, pathname } = new URL(url);
    for (const store of [
      `postgres://talaria:${PASSWORD}@127.0.0.1:1/runs`,
      `postgres://talaria:${PASSWORD}@${host}${pathname}`,
      `postgres:/talaria:${PASSWORD}@${host}`,
    ]) {
      const { code, stdout, stderr } = await talaria('', [
        'migrate-store',
        '--from',
        fileOf(world),
        '--to',
        store,
      ]);
      expect(code).not.toBe(0);
      expect(stdout + stderr).not.toContain(PASSWORD);
    }
    const missing = await talaria('', ['migrate-store', '--from', fileOf(world)]);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('expected --to <store>')]);
  });
});
