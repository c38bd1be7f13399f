/** One process that serves clients and others that work on runs, on one Postgres, are one service. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type SharedPostgres,
  sharedPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import {
  endsAs,
  markedSleep,
  names,
  ofKind,
  processesWith,
  shownText,
  terminal,
  waitForApproval,
} from './server-with-model.ts';

interface Detailed {
  role: string;
  active_agents: number;
  queue: Record<string, number>;
  readiness: { status: string; checks: Record<string, unknown> };
}

/** A handover is claimed at once: nothing here may wait for the end of a lease. */
const LEASE = { TALARIA_LEASE_SECONDS: '3600', TALARIA_WEBHOOK_ALLOW_PRIVATE: 'true' };

let postgres: SharedPostgres;
let model: ModelServer;
let http: ServerProcess;
let workers: ServerProcess[];
let startWorker: () => Promise<ServerProcess>;

beforeAll(async () => {
  [postgres, model] = await Promise.all([sharedPostgres(), startModelServer()]);
  const url = await postgres.createDatabase();
  const env = { ...LEASE, TALARIA_DATABASE_URL: url };
  // No model: a process that works on no runs needs none.
  http = await ServerProcess.start({ env: { ...env, TALARIA_ROLE: 'http', TALARIA_MODEL: 'openai/none' } });
  const work = { modelUrl: model.url, env: { ...env, TALARIA_ROLE: 'work' } };
  startWorker = () => ServerProcess.start(work);
  workers = [await startWorker()];
});
afterAll(async () => {
  for (const server of [http, ...(workers ?? [])]) await server?.[Symbol.asyncDispose]();
  await model?.close();
  await postgres?.stop();
});

const api = () => new Api(http.url);

const detailed = async (server: ServerProcess): Promise<Detailed> =>
  (await new Api(server.url).get<Detailed>('/health/detailed')).body;

/** The worker that has the only run, and the other. */
async function workersOf(): Promise<{ owner: ServerProcess; other: ServerProcess }> {
  const owner = await waitFor('a worker to have the run', async () => {
    for (const worker of workers) if ((await detailed(worker)).active_agents === 1) return worker;
    return undefined;
  });
  return { owner, other: workers.find((worker) => worker !== owner)! };
}

test('each reports its role, and has no part that is not its own', async () => {
  const serving = await detailed(http);
  expect(serving).toMatchObject({
    role: 'http',
    queue: { max_concurrent: 0 },
    readiness: { status: 'ready' },
  });
  expect(Object.keys(serving.readiness.checks)).not.toEqual(expect.arrayContaining(['sandbox', 'model']));
  expect(http.output).toMatch(/role +http: serves clients/);
  const working = await detailed(workers[0]!);
  expect(working).toMatchObject({ role: 'work', queue: { max_concurrent: 10 } });
  expect(Object.keys(working.readiness.checks)).toEqual(
    expect.arrayContaining(['store', 'sandbox', 'model']),
  );
  expect(workers[0]!.output).toMatch(/role +work: works on runs/);
});

test('a worker serves its health and metrics, and nothing else', async () => {
  const worker = new Api(workers[0]!.url);
  for (const path of ['/health', '/v1/health', '/health/ready', '/metrics']) {
    expect((await worker.get(path)).status, path).toBe(200);
  }
  for (const path of ['/v1/runs', '/v1/models', '/api/jobs', '/nothing']) {
    expect(await worker.get(path), path).toMatchObject({
      status: 421,
      body: { error: { code: 'no_api', message: expect.stringContaining('TALARIA_ROLE is work') } },
    });
  }
  expect((await worker.post('/v1/runs', { input: 'x' })).status).toBe(421);
});

describe('through the server for clients', () => {
  test('a run works from its creation to its end, and its webhook is called', async () => {
    await using receiver = await WebhookReceiver.start();
    const steps = [{ tools: [terminal('echo hello')] }, { text: 'It said hello.', chunks: 3 }];
    const runId = await api().create(script(steps), { webhook: { url: receiver.url } });
    const { frames } = await endsAs(api(), runId, 'run.completed');
    expect(ofKind(frames, 'tool.completed')).toMatchObject([{ error: false, preview: 'hello\n' }]);
    expect(shownText(frames)).toBe('It said hello.');
    expect(await api().run(runId)).toMatchObject({ status: 'completed', output: 'It said hello.' });
    expect((await api().list()).data.map(({ run_id }) => run_id)).toContain(runId);
    const [received] = await receiver.receives(1);
    expect(received!.message.data.run_id).toBe(runId);
  });

  // postgres.test.ts shows in npm test that a server answers, steers and stops a run of another.
  test('a run is answered and steered', { tags: ['soak'] }, async () => {
    const runId = await api().create(script([{ tools: [terminal('rm -rf build')] }, { text: 'done' }]));
    const { request_id } = await waitForApproval(api(), runId);
    expect((await api().post(`/v1/runs/${runId}/steer`, { input: 'be quick' })).status).toBe(200);
    expect((await api().approve(runId, 'once', { request_id })).status).toBe(200);
    const { frames } = await endsAs(api(), runId, 'run.completed');
    expect(ofKind(frames, 'run.steered')).toMatchObject([{ input: 'be quick' }]);
  });

  test('a run is stopped, with its processes', { tags: ['soak'] }, async () => {
    const { command, marker } = markedSleep();
    const runId = await api().create(script([{ tools: [terminal(command)] }, { text: 'late' }]));
    await waitFor('the command to run', () => processesWith(marker).length > 0);
    expect((await api().stop(runId)).status).toBe(200);
    await endsAs(api(), runId, 'run.cancelled');
    expect(processesWith(marker)).toEqual([]);
  });

  test('a job is created, and a worker fires it', async () => {
    const create = (ms: number) => {
      const at = new Date(Date.now() + ms).toISOString();
      const job = { name: 'once', schedule: at, prompt: script([{ text: 'fired' }]) };
      return api().post('/api/jobs', job);
    };
    // A busy machine may take so long that the time of the first is over.
    const { status } = await create(500);
    if (status !== 200) expect((await create(20_000)).status).toBe(200);
    await waitFor('its run to end', async () =>
      (await api().list()).data.some(({ output }) => output === 'fired'),
    );
  });

  test('its restart waits for the answers in progress, and does not affect the runs', async () => {
    const [gate, later] = [`gate-${randomUUID()}`, `gate-${randomUUID()}`];
    const runId = await api().create(script([{ chunks: ['undis', { gate: later }, 'turbed'] }]));
    const { promise: shown, resolve } = Promise.withResolvers<void>();
    const watched = api().stream(runId, { onFrame: () => resolve() });
    await shown;
    const content = script([{ chunks: ['in ', { gate }, 'time'] }]);
    const answers = [false, true].map((stream) =>
      fetch(`${http.url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ messages: [{ role: 'user', content }], stream }),
      }).then((response) => response.text()),
    );
    await waitFor('every run to be worked on', async () => {
      const active = await Promise.all(workers.map(async (worker) => (await detailed(worker)).active_agents));
      return active.reduce((sum, runs) => sum + runs, 0) === 3;
    });
    const ended = http.kill('SIGTERM');
    await waitFor('it to drain', async () => (await api().get('/health/ready')).status === 503);
    model.open(gate);
    const [whole, streamed] = await Promise.all(answers);
    expect(JSON.parse(whole!).choices[0].message.content).toBe('in time');
    expect(streamed).toMatch(/data: \[DONE\]\s*$/);
    expect((await ended).code).toBe(0);

    expect((await watched).clean).toBe(false);
    model.open(later);
    await http.start();
    const { frames } = await endsAs(api(), runId, 'run.completed');
    expect(names(frames)).not.toContain('run.resumed');
    expect(shownText(frames)).toBe('undisturbed');
  });

  // rolling-restart.test.ts shows it in npm test, for servers with both roles.
  test('a worker that is told to stop hands its run to another at once', { tags: ['soak'] }, async () => {
    workers.push(await startWorker());
    const gate = `gate-${randomUUID()}`;
    const steps = [{ gate, tools: [terminal('echo there')] }, { text: 'handed over' }];
    const runId = await api().create(script(steps));
    await model.waitingAt(gate);
    const { owner } = await workersOf();
    const ended = owner.kill('SIGTERM');
    const ready = () => new Api(owner.url).get('/health/ready');
    await waitFor('the worker to say that it goes', async () => (await ready()).status === 503);
    expect((await new Api(owner.url).get('/health')).status).toBe(200);
    model.open(gate);
    expect((await ended).code).toBe(0);
    const { frames } = await endsAs(api(), runId, 'run.completed');
    expect(names(frames)).toContain('run.resumed');
    await owner.start();
  });
});

test("a worker's tasks wait while there is none, and the queue shows it", async () => {
  for (const worker of workers) await worker.kill('SIGTERM');
  const runId = await api().create(script([{ text: 'at last' }]));
  const { body } = await api().get<Detailed>('/health/detailed');
  expect(body.queue).toMatchObject({ queued: 1, leased: 0 });
  expect(body.readiness).toMatchObject({
    status: 'ready',
    checks: { peers: { status: 'degraded', detail: expect.stringContaining('none of them works on runs') } },
  });
  await workers[0]!.start();
  expect((await endsAs(api(), runId, 'run.completed')).output).toBe('at last');
});
