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
