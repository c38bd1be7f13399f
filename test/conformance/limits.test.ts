/** What depends on a server's settings: a full queue, a shutdown, a permanent grant. */
import { expect, it } from 'vitest';
import { HostedServer } from '../support/hosted-server.ts';
import { startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { expectError } from './checked-api.ts';
import { apiOf, commands, GATED, HeldRun, say, uniqueName, WaitingRun, waitForStatus } from './target.ts';

it('a full queue is 429 with a true Retry-After; a replay, reads, stop and approval still work', async () => {
  await using model = await startModelServer();
  const env = { TALARIA_MAX_CONCURRENT_RUNS: '1', TALARIA_MAX_QUEUED_RUNS: '1' };
  await using server = await HostedServer.start({ modelUrl: model.url, env });
  const target = { baseUrl: server.url, model };
  const api = apiOf(target);
  // It takes no place, neither among the runs at work nor in the queue.
  await using waiting = await WaitingRun.start(target);
  await using held = await HeldRun.start(target);
  const headers = { 'idempotency-key': uniqueName('key') };
  const body = { input: say('queued') };
  const queued = await api.post<{ run_id: string }>('/v1/runs', body, headers);
  expect(queued.status).toBe(202);

  const refused = await api.post('/v1/runs', { input: 'one too many' });
  expectError(refused, { status: 429, code: 'rate_limit_exceeded' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expectError(await api.post(`/v1/runs/${waiting.runId}/fork`), { status: 429, code: 'rate_limit_exceeded' });
  expect((await api.list()).data).toHaveLength(3);

  const replay = await api.post('/v1/runs', body, headers);
  expect(replay).toMatchObject({ status: 202, body: { run_id: queued.body.run_id, replayed: true } });
  const other = await api.post('/v1/runs', { input: 'other' }, headers);
  expectError(other, { status: 409, code: 'idempotency_key_conflict' });
  expectError(await api.post('/v1/runs', { input: '' }), { status: 400, code: 'missing_input' });

  expect((await api.get('/health')).status).toBe(200);
  expect((await api.approve(waiting.runId, 'once')).status).toBe(200);
  held.release();
  expect(await api.finish(queued.body.run_id)).toMatchObject({ event: 'run.completed', output: 'queued' });
  expect((await api.post('/v1/runs', { input: 'room again' })).status).toBe(202);
});

it('a server that shuts down accepts no new run, but answers reads, streams, approval and stop', async () => {
  await using model = await startModelServer();
  await using server = await ServerProcess.start({ modelUrl: model.url });
  const target = { baseUrl: server.url, model };
  const api = apiOf(target);
  // Its model call keeps the server running until the test is done.
  const held = await HeldRun.start(target);
  const exited = server.kill('SIGTERM');
  const refused = await waitFor('the drain to begin', async () => {
    const answer = await api.post('/v1/runs', { input: 'too late' });
    return answer.status !== 202 && answer;
  });
  expectError(refused, { status: 503, code: 'gateway_draining' });
  expect(refused.headers.get('retry-after')).toBe('1');
  expectError(await api.request('POST', '/v1/runs', { raw: 'not json' }), {
    status: 503,
    code: 'gateway_draining',
  });
  expectError(await api.request('POST', `/v1/runs/${held.runId}/fork`, { raw: 'not json' }), {
    status: 503,
    code: 'gateway_draining',
  });
  expect((await api.get('/health')).status).toBe(200);
  expect((await api.get<{ gateway_state: string }>('/health/detailed')).body.gateway_state).toBe('draining');
  expect((await api.run(held.runId)).status).toBe('running');
  expectError(await api.approve(held.runId, 'once'), { status: 409, code: 'approval_not_pending' });
  const streaming = api.stream(held.runId);
  expect((await api.stop(held.runId)).status).toBe(200);
  expect((await streaming).frames.at(-1)?.event.event).toBe('run.cancelled');
  expect((await exited).code).toBe(0);
});

// test/chaos/state-survives-kill.test.ts shows that it outlives the server.
it('a permanent approval covers the pattern in every session', async () => {
  await using model = await startModelServer();
  await using server = await HostedServer.start({ modelUrl: model.url });
  const api = apiOf({ baseUrl: server.url, model });
  const runId = await api.create(commands(GATED));
  await waitForStatus(api, runId, 'waiting_for_approval');
  expect((await api.approve(runId, 'always')).body).toMatchObject({ choice: 'always' });
  await waitForStatus(api, runId, 'completed');
  const { frames } = await api.stream(await api.create(commands(GATED)));
  expect(frames.map(({ event }) => event.event)).not.toContain('approval.request');
  expect(frames.at(-1)?.event.event).toBe('run.completed');
});
