/**
 * Finished runs are kept for their time and then deleted with everything that belongs to them; unfinished ones never
 * are.
 */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ServerWithModel, terminal, waitForApproval } from './server-with-model.ts';

let world: ServerWithModel;
let api: Api;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_RUN_RETENTION_SECONDS: '1' });
  api = world.api;
});
afterAll(() => world[Symbol.asyncDispose]());

function evicted(runId: string): Promise<boolean> {
  return waitFor(`${runId} to be evicted`, async () => (await api.get(`/v1/runs/${runId}`)).status === 404);
}

test('a finished run is evicted with its events and its workspace', async () => {
  const runId = await api.create(script([{ tools: [terminal('echo kept > file')] }, { text: 'done' }]));
  await api.finish(runId);
  expect(existsSync(world.workspaceFile(runId, 'file'))).toBe(true);
  const { updated_at } = await api.run(runId);
  await evicted(runId);
  expect(Date.now() / 1000 - updated_at).toBeGreaterThanOrEqual(1);
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/events'],
    ['POST', '/stop'],
    ['POST', '/approval'],
  ] as const) {
    const answer = await api.request(method, `/v1/runs/${runId}${path}`);
    expect(answer).toMatchObject({
      status: 404,
      body: { error: { code: 'run_not_found', message: `Run not found: ${runId}` } },
    });
  }
  expect((await api.list()).data.map(({ run_id }) => run_id)).not.toContain(runId);
  await waitFor('the workspace to be gone', () => !existsSync(world.workspaceFile(runId)));
});

test('a run that is not finished is never evicted, however old', async () => {
  const runId = await api.create(
    script([
      { tools: [terminal('echo kept > file')] },
      { tools: [terminal('rm -rf build')] },
      { text: 'done' },
    ]),
  );
  await waitForApproval(api, runId);
  // A run that finishes later is evicted first.
  const short = await api.create(script([{ text: 'short' }]));
  await api.finish(short);
  await evicted(short);
  expect((await api.run(runId)).status).toBe('waiting_for_approval');
  expect(existsSync(world.workspaceFile(runId, 'file'))).toBe(true);
  await api.approve(runId, 'deny');
  await endsAs(api, runId, 'run.completed');
  await evicted(runId);
});

test('a retried create gets its evicted run, and starts no second one', async () => {
  const key = { 'idempotency-key': 'evicted' };
  const input = script([{ text: 'once' }]);
  const first = await api.post<{ run_id: string }>('/v1/runs', { input }, key);
  await api.finish(first.body.run_id);
  await evicted(first.body.run_id);
  const replayed = await api.post('/v1/runs', { input }, key);
  expect(replayed).toMatchObject({
    status: 202,
    body: { run_id: first.body.run_id, status: 'completed', replayed: true },
  });
  expect((await api.post('/v1/runs', { input: 'another' }, key)).status).toBe(409);
  expect(world.model.requests.filter(({ scriptId }) => input.includes(`id=${scriptId} `))).toHaveLength(1);
});

test('many runs that finish together are all evicted', async () => {
  const runs = await Promise.all(
    Array.from({ length: 60 }, () => api.create(script([{ tools: [terminal('true')] }, { text: 'done' }]))),
  );
  await Promise.all(runs.map((runId) => api.finish(runId)));
  for (const runId of runs) await evicted(runId);
  await waitFor('their workspaces to be gone', () =>
    runs.every((runId) => !existsSync(world.workspaceFile(runId))),
  );
});
