/** A server that is killed while it evicts runs evicts the rest later: every run is whole, or a head, and listed once. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer, type Moment } from './killable-server.ts';

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

test.each<[Moment, boolean]>([['eviction.after-workspace', false]])('killed at %s', evictsTheRest);

test('killed while runs go for room: they go after the restart, say why, and a kept one stays', {
  tags: ['soak'],
}, async () => {
  // A sweep every ten seconds, and none of the runs is too old.
  const env = { TALARIA_RUN_DISK_BYTES: '1', TALARIA_RUN_RETENTION_SECONDS: '100' };
  await using server = new KillableServer({ modelUrl: model.url, env });
  await server.start('eviction.after-workspace');
  const call = { name: 'terminal', arguments: { command: 'echo kept > file' } };
  const create = () => server.api.create(script([{ tools: [call] }, { text: 'done' }]));
  const kept = await create();
  const keep = await server.api.request('PATCH', `/v1/runs/${kept}`, { body: { keep: true } });
  expect(keep.status).toBe(200);
  const gone = await create();
  await server.diesByItself('eviction.after-workspace');
  await server.start();
  const head = await waitFor('the run to be evicted', async () => {
    const run = (await server.api.list()).data.find(({ run_id }) => run_id === gone);
    return run?.evicted && run;
  });
  expect(head).toMatchObject({ status: 'completed', evicted_for: 'room' });
  expect(await server.api.run(kept)).toMatchObject({ status: 'completed', keep: true });
  expect(existsSync(join(server.process.dataDir, 'workspaces', `t-${kept}`, 'file'))).toBe(true);
});
test.each<[Moment, boolean]>([['eviction.after-records', true]])(
  'killed at %s',
  { tags: ['soak'] },
  evictsTheRest,
);

async function evictsTheRest(moment: Moment, isEvicted: boolean): Promise<void> {
  await using server = new KillableServer({
    modelUrl: model.url,
    env: { TALARIA_RUN_RETENTION_SECONDS: '1' },
  });
  await server.start(moment);
  const call = { name: 'terminal', arguments: { command: 'echo kept > file' } };
  const input = script([{ tools: [call] }, { text: 'done' }]);
  const key = { 'idempotency-key': 'once' };
  const { body } = await server.api.post<{ run_id: string }>('/v1/runs', { input }, key);
  const runIds = [body.run_id];
  await server.diesByItself(moment);
  await server.start();
  // Found where the dead server left it.
  const [left] = (await server.api.list()).data;
  expect(left).toMatchObject({ run_id: runIds[0], status: 'completed' });
  if (isEvicted) expect(left).toMatchObject({ evicted: true });

  runIds.unshift(await server.api.create(script([{ text: 'later' }])));
  const heads = async () => (await server.api.list()).data;
  await waitFor('all runs to be evicted', async () => {
    const runs = await heads();
    // At no time is one missing, or there twice.
    expect(runs.map(({ run_id }) => run_id)).toEqual(runIds);
    return runs.every(({ evicted }) => evicted);
  });
  for (const runId of runIds) {
    expect((await server.api.get(`/v1/runs/${runId}`)).status).toBe(404);
    expect(existsSync(join(server.process.dataDir, 'workspaces', `t-${runId}`))).toBe(false);
  }
  const replayed = await server.api.post('/v1/runs', { input }, key);
  expect(replayed.body).toMatchObject({ run_id: body.run_id, status: 'completed', replayed: true });
}
