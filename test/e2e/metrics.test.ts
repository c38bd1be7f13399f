/** `GET /metrics`: what a scrape of a working server shows, and what it never shows. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { type Metric, parseExposition, sampleOf } from '../support/exposition.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ServerWithModel, terminal, waitForStatus } from './server-with-model.ts';

const KEY = 'quail9Zebra4Velvet7Harbor';
const SECRET = 'onyx3Thicket6Bramble1Cedar';
const MODEL = 'openai-compatible/scripted';

let world: ServerWithModel;
let api: Api;
beforeAll(async () => {
  world = await ServerWithModel.start({ API_SERVER_KEY: KEY, TALARIA_MAX_CONCURRENT_RUNS: '2' });
  api = world.api;
});
afterAll(() => world[Symbol.asyncDispose]());

async function scrape(): Promise<Map<string, Metric>> {
  return parseExposition((await api.get<string>('/metrics')).body);
}

async function value(name: string, labels: Record<string, string> = {}): Promise<number> {
  return sampleOf(await scrape(), name, labels) ?? 0;
}

test('it needs the key, and has the content type of the format', async () => {
  expect((await new Api(world.server.url).get('/metrics')).status).toBe(401);
  const answer = await api.get('/metrics');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
});

test('a run with a tool call is counted in every metric it concerns', async () => {
  const before = await scrape();
  const runId = await api.create(script([{ tools: [terminal('echo hi')] }, { text: 'done' }]));
  await endsAs(api, runId, 'run.completed');
  const after = await waitFor('the stream to be counted', async () => {
    const metrics = await scrape();
    const labels = { method: 'GET', route: '/v1/runs/{run_id}/events', status: '200' };
    return sampleOf(metrics, 'talaria_http_requests_total', labels) === 1 && metrics;
  });
  const grown = (name: string, labels: Record<string, string> = {}) =>
    (sampleOf(after, name, labels) ?? 0) - (sampleOf(before, name, labels) ?? 0);

  expect(grown('talaria_runs_submitted_total', { outcome: 'created' })).toBe(1);
  expect(grown('talaria_runs_finished_total', { status: 'completed', error_code: '' })).toBe(1);
  expect(grown('talaria_run_queue_seconds_count')).toBe(1);
  expect(grown('talaria_run_first_event_seconds_count')).toBe(1);
  expect(grown('talaria_run_duration_seconds_count', { status: 'completed' })).toBe(1);
  expect(grown('talaria_model_step_seconds_count', { model: MODEL, outcome: 'completed' })).toBe(2);
  expect(grown('talaria_model_tokens_total', { model: MODEL, type: 'input' })).toBe(20);
  expect(grown('talaria_model_tokens_total', { model: MODEL, type: 'output' })).toBe(10);
  expect(grown('talaria_tool_calls_total', { tool: 'terminal', outcome: 'ok' })).toBe(1);
  expect(grown('talaria_tool_call_seconds_count', { tool: 'terminal', outcome: 'ok' })).toBe(1);
  expect(grown('talaria_journal_commit_seconds_count', { outcome: 'ok' })).toBeGreaterThan(5);
  expect(grown('talaria_journal_commit_records_sum')).toBeGreaterThan(8);
  const created = { method: 'POST', route: '/v1/runs', status: '202' };
  expect(grown('talaria_http_requests_total', created)).toBe(1);
  expect(grown('talaria_http_request_seconds_count', { method: 'POST', route: '/v1/runs' })).toBe(1);
  // How long a stream was open says nothing about the speed of the server.
  expect(sampleOf(after, 'talaria_http_request_seconds_count', { route: '/v1/runs/{run_id}/events' })).toBe(
    undefined,
  );
});

test('shows the present: running, waiting for a person, in the queue, watched', async () => {
  const gates = ['first', 'second'];
  const asking = await api.create(script([{ tools: [terminal('rm -rf build')] }, { text: 'done' }]));
  await waitFor(
    'the question to wait',
    async () => (await value('talaria_runs', { state: 'waiting' })) === 1,
  );
  const working = await api.create(script([{ chunks: ['a ', { gate: 'first' }, 'b'] }]));
  const another = await api.create(script([{ chunks: ['a ', { gate: 'second' }, 'b'] }]));
  for (const runId of [working, another]) await waitForStatus(api, runId, 'running');
  const waiting = await api.create(script([{ text: 'late' }]));
  const watch = new AbortController();
  const watching = api.stream(working, { signal: watch.signal }).catch(() => {});
  await waitFor('the watcher', async () => (await value('talaria_subscribers')) === 1);

  const metrics = await scrape();
  const runs = (state: string) => sampleOf(metrics, 'talaria_runs', { state });
  expect([runs('running'), runs('waiting'), runs('waiting_for_approval'), runs('queued')]).toEqual([
    2, 1, 1, 1,
  ]);
  expect(sampleOf(metrics, 'talaria_runs_limit', { state: 'active' })).toBe(2);
  expect(sampleOf(metrics, 'talaria_runs_limit', { state: 'queued' })).toBe(1000);

  const denied = await value('talaria_tool_calls_total', { tool: 'terminal', outcome: 'denied' });
  await api.approve(asking, 'deny');
  watch.abort();
  for (const gate of gates) world.model.open(gate);
  for (const runId of [working, another, asking, waiting]) await endsAs(api, runId, 'run.completed');
  await watching;
  expect(await value('talaria_approval_wait_seconds_count', { outcome: 'deny' })).toBe(1);
  expect(await value('talaria_tool_calls_total', { tool: 'terminal', outcome: 'denied' })).toBe(denied + 1);
});

test('counts runs that fail, are stopped while working and are stopped in the queue', async () => {
  const failed = await api.create(script([{ error: { status: 400, message: 'no' } }]));
  const { error_code } = await endsAs(api, failed, 'run.failed');
  expect(await value('talaria_runs_finished_total', { status: 'failed', error_code })).toBe(1);

  const cancelled = { status: 'cancelled' };
  const before = await value('talaria_runs_finished_total', cancelled);
  const durations = await value('talaria_run_duration_seconds_count', cancelled);
  const busy = [1, 2].map(() => api.create(script([{ tools: [terminal('sleep 600')] }])));
  const working = await Promise.all(busy);
  for (const runId of working) await waitForStatus(api, runId, 'running');
  const queued = await api.create('never begun');
  for (const runId of [queued, ...working]) await api.stop(runId);
  for (const runId of [queued, ...working]) await endsAs(api, runId, 'run.cancelled');
  expect(await value('talaria_runs_finished_total', cancelled)).toBe(before + 3);
  expect(await value('talaria_run_duration_seconds_count', cancelled)).toBe(durations + 2);
});

test('names that clients and models make up become no label, and nothing they say is in it', async () => {
  const hostile = `x"}\n${SECRET}`;
  const runId = await api.create(
    script([
      {
        tools: [
          { name: hostile, arguments: {} },
          { name: `mcp__${SECRET}__get`, arguments: {} },
          terminal(`echo ${SECRET}`),
        ],
      },
      { text: SECRET },
    ]),
    { model: SECRET, session_id: SECRET, instructions: SECRET },
  );
  await endsAs(api, runId, 'run.completed');
  await api.get(`/v1/${SECRET}`);
  await api.get(`/v1/runs/${SECRET}`);
  await api.request('DELETE', `/v1/runs/${runId}`);
  const { body } = await api.get<string>('/metrics');
  for (const word of [SECRET, KEY, runId, 'run_0', world.server.dataDir]) expect(body).not.toContain(word);
  const metrics = parseExposition(body);
  const labels = (name: string, label: string) =>
    new Set(metrics.get(name)!.samples.map((sample) => sample.labels[label]));
  expect(labels('talaria_tool_calls_total', 'tool')).toEqual(new Set(['terminal', 'other']));
  expect(labels('talaria_model_step_seconds', 'model')).toEqual(new Set([MODEL]));
  for (const route of labels('talaria_http_requests_total', 'route')) {
    expect(route).toMatch(/^(none|\/[\w./{}]+)$/);
  }
});

test('a restarted server counts the runs that it resumes', async () => {
  await using own = await ServerWithModel.start();
  const runId = await own.api.create(script([{ chunks: ['a ', { gate: 'go' }, 'b'] }]));
  await own.model.waitingAt('go');
  await own.server.restart();
  own.model.open('go');
  await endsAs(own.api, runId, 'run.completed');
  const metrics = parseExposition((await own.api.get<string>('/metrics')).body);
  expect(sampleOf(metrics, 'talaria_run_resumes_total')).toBe(1);
  expect(sampleOf(metrics, 'talaria_run_queue_seconds_count')).toBe(0);
  expect(sampleOf(metrics, 'talaria_runs_finished_total', { status: 'completed' })).toBe(1);
});
