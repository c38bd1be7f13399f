/** Servers on one Postgres: whoever takes the answer, a waiting run goes on, and where its sandbox is if there is one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type SharedPostgres,
  sharedPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, markedSleep, names, processesWith, terminal } from './server-with-model.ts';

/** Nothing here may wait for the end of a lease, except where a server is killed. */
const LEASE_SECONDS = 3_600;

let postgres: SharedPostgres;
let model: ModelServer;

beforeAll(async () => {
  [postgres, model] = await Promise.all([sharedPostgres(), startModelServer()]);
});
afterAll(async () => {
  await model?.close();
  await postgres?.stop();
});

const gated = terminal('rm -rf build; touch ran-it');
const asking = () => script([{ tools: [gated] }, { text: 'done' }]);

function startServer(url: string, leaseSeconds = LEASE_SECONDS): Promise<ServerProcess> {
  const env = {
    TALARIA_DATABASE_URL: url,
    TALARIA_LEASE_SECONDS: String(leaseSeconds),
    TALARIA_MAX_QUEUED_RUNS: '10000',
  };
  return ServerProcess.start({ modelUrl: model.url, env });
}

function waiting(api: Api, count: number): Promise<unknown> {
  return waitFor(`${count} runs to wait`, async () => {
    const { queue } = (await api.get<{ queue: Record<string, number> }>('/health/detailed')).body;
    return queue.waiting === count && queue.queued === 0 && queue.leased === 0;
  });
}

async function approve(api: Api, runId: string): Promise<void> {
  expect(await api.approve(runId, 'once')).toMatchObject({ status: 200 });
}

test('runs that one server asked about are answered through another, which completes them', async () => {
  const url = await postgres.createDatabase();
  await using first = await startServer(url);
  const asked: string[] = [];
  for (let n = 0; n < 30; n += 1) asked.push(await new Api(first.url).create(asking()));
  await waiting(new Api(first.url), asked.length);
  await first.kill();
  await using second = await startServer(url);
  const api = new Api(second.url);
  for (const runId of asked) await approve(api, runId);
  for (const runId of asked) {
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(names(frames).filter((name) => name === 'approval.request')).toHaveLength(1);
    expect(existsSync(join(second.dataDir, 'workspaces', `t-${runId}`, 'ran-it'))).toBe(true);
  }
});

test('a run with a background process goes on where that is, whichever server takes the answer', async () => {
  const url = await postgres.createDatabase();
  await using first = await startServer(url);
  const { command, marker } = markedSleep();
  const runId = await new Api(first.url).create(
    script([{ tools: [terminal(command, { background: true })] }, { tools: [gated] }, { text: 'done' }]),
  );
  await waiting(new Api(first.url), 1);
  await using second = await startServer(url);
  expect(processesWith(marker)).not.toEqual([]);
  await approve(new Api(second.url), runId);
  const { frames } = await endsAs(new Api(second.url), runId, 'run.completed');
  expect(names(frames)).not.toContain('run.resumed');
  expect(existsSync(join(first.dataDir, 'workspaces', `t-${runId}`, 'ran-it'))).toBe(true);
});

test('a run whose sandbox died with its server goes on elsewhere, and the model is told', async () => {
  const url = await postgres.createDatabase();
  await using first = await startServer(url, 1);
  const { command } = markedSleep();
  const prompt = script([
    { tools: [terminal(command, { background: true })] },
    { tools: [gated] },
    { text: 'done' },
  ]);
  const runId = await new Api(first.url).create(prompt);
  await waiting(new Api(first.url), 1);
  await first.kill();
  await using second = await startServer(url, 1);
  const api = new Api(second.url);
  expect(await api.run(runId)).toMatchObject({ status: 'waiting_for_approval' });
  await approve(api, runId);
  await endsAs(api, runId, 'run.completed');
  const asked = model.requests.findLast(({ scriptId }) => prompt.includes(`id=${scriptId} `));
  expect(JSON.stringify(asked!.body.messages)).toContain('background processes have ended');
});

test('a run says that no server works on runs', async () => {
  const url = await postgres.createDatabase();
  const env = { TALARIA_DATABASE_URL: url, TALARIA_ROLE: 'http', TALARIA_MODEL: 'openai/none' };
  await using front = await ServerProcess.start({ env });
  const api = new Api(front.url);
  const runId = await api.create(asking());
  expect((await api.run(runId)).queue).toEqual({ position: 1, waiting_for: 'server' });
  await using worker = await startServer(url);
  await waiting(new Api(worker.url), 1);
  expect(await api.run(runId)).toMatchObject({ status: 'waiting_for_approval' });
});
