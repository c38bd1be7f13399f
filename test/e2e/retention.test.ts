/**
 * Finished runs are kept for their time and then deleted with everything that belongs to them, except their heads, which
 * lists show for longer; unfinished ones never are.
 */
import { existsSync } from 'node:fs';
import type { Run } from '@talaria/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { FeedReader } from '../support/feed-reader.ts';
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
    ['GET', '?view=full'],
    ['GET', '/events'],
    ['GET', '/calls/call_1'],
    ['GET', '/artifacts'],
    ['GET', '/artifacts/content?path=file'],
    ['GET', '/artifacts/archive'],
    ['DELETE', '/artifacts/content?path=file'],
    ['POST', '/stop'],
    ['POST', '/approval'],
    ['POST', '/steer'],
    ['POST', '/tool_outputs'],
    ['PATCH', ''],
  ] as const) {
    const answer = await api.request(method, `/v1/runs/${runId}${path}`);
    expect(answer).toMatchObject({
      status: 404,
      body: { error: { code: 'run_not_found', message: `Run not found: ${runId}` } },
    });
  }
  await waitFor('the workspace to be gone', () => !existsSync(world.workspaceFile(runId)));
});

test('lists and the feed show the head of an evicted run, and so does the run itself if it is asked for that', async () => {
  await using feed = await FeedReader.open(api);
  const session_id = 'yesterday';
  const runId = await api.create(script([{ text: 'the words of an answer' }]), { session_id });
  await api.finish(runId);
  const { output, expires_at, ...head } = await api.run(runId);
  expect(expires_at).toBe(head.updated_at + 1);
  expect(await feed.shows(runId, (run) => run.evicted === true)).toEqual({ ...head, evicted: true });
  await evicted(runId);
  const query = `?session_id=${session_id}`;
  for (const filter of ['', '&view=head', '&status=completed,failed', '&q=words+answer', '&since=1']) {
    expect((await api.list(`${query}${filter}`)).data).toEqual([{ ...head, evicted: true }]);
  }
  expect(output).toBe('the words of an answer');
  expect(await api.get(`/v1/runs/${runId}?view=head`)).toMatchObject({
    status: 200,
    body: { ...head, evicted: true },
  });
});

test('the head of an evicted run is deleted with its session', async () => {
  const runId = await api.create(script([{ text: 'secret' }]), { session_id: 'deleted' });
  await api.finish(runId);
  await evicted(runId);
  expect((await api.request('DELETE', '/api/sessions/deleted')).status).toBe(200);
  expect((await api.get(`/v1/runs/${runId}?view=head`)).status).toBe(404);
  expect((await api.list('?session_id=deleted')).data).toEqual([]);
});

test.each([
  ['as long as they are set to', '2'],
  ['not at all', '0'],
])('heads are kept %s', async (_, seconds) => {
  await using other = await ServerWithModel.start({
    TALARIA_RUN_RETENTION_SECONDS: '1',
    TALARIA_RUN_HEAD_RETENTION_SECONDS: seconds,
  });
  const runId = await other.api.create(script([{ text: 'done' }]));
  await other.api.finish(runId);
  const { updated_at } = await other.api.run(runId);
  const head = async () => (await other.api.get<Run>(`/v1/runs/${runId}?view=head`)).body;
  let wasEvicted = false;
  await waitFor('the head to be gone', async () => {
    const { evicted: isEvicted, run_id } = await head();
    wasEvicted ||= isEvicted === true;
    return run_id === undefined;
  });
  expect(Date.now() / 1000 - updated_at).toBeGreaterThanOrEqual(Number(seconds));
  expect((await other.api.list()).data).toEqual([]);
  if (seconds === '0') expect(wasEvicted).toBe(false);
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

test('more runs than are evicted at a time, which finish together, are all evicted', async () => {
  const runs = await Promise.all(
    Array.from({ length: 25 }, (_, i) => {
      // Two of them have a workspace.
      const call = { tools: [terminal('true')] };
      return api.create(script([...(i % 20 === 0 ? [call] : []), { text: 'done' }]));
    }),
  );
  await Promise.all(runs.map((runId) => api.finish(runId)));
  for (const runId of runs) await evicted(runId);
  await waitFor('their workspaces to be gone', () =>
    runs.every((runId) => !existsSync(world.workspaceFile(runId))),
  );
});
