/** What a run begins with is there on whichever server works on it, also if the first one dies before it was used. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  startPostgres,
  type TestPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import { endsAs, ofKind, terminal } from './server-with-model.ts';

let postgres: TestPostgres;
let model: ModelServer;
const servers: ServerProcess[] = [];

beforeAll(async () => {
  [postgres, model] = await Promise.all([startPostgres(), startModelServer()]);
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});
afterAll(async () => {
  await model?.close();
  await postgres?.stop();
});

async function startServer(url: string, env: Record<string, string> = {}): Promise<ServerProcess> {
  const database = { TALARIA_DATABASE_URL: url, TALARIA_LEASE_SECONDS: '2' };
  const server = await ServerProcess.start({ modelUrl: model.url, env: { ...database, ...env } });
  servers.push(server);
  return server;
}

test('the next server has the files that no call has used yet, and nobody is told of a loss', async () => {
  const url = await postgres.createDatabase();
  const front = await startServer(url, { TALARIA_ROLE: 'http' });
  const first = await startServer(url, { TALARIA_ROLE: 'work' });
  const api = new Api(front.url);
  const gate = `gate-${Math.random()}`;
  const steps = [{ tools: [terminal('cat deep/given')], gate }, { text: 'done' }];
  const workspace = { files: [{ path: 'deep/given', content: 'from the request' }] };
  const runId = await api.create(script(steps), { workspace });
  await model.waitingAt(gate);
  const { body } = await api.get(`/v1/runs/${runId}/artifacts/content?path=deep/given`);
  expect(body).toBe('from the request');
  await first.kill();
  await startServer(url, { TALARIA_ROLE: 'work' });
  model.open(gate);
  const { frames } = await endsAs(api, runId, 'run.completed');
  expect(ofKind(frames, 'tool.completed')).toMatchObject([{ preview: 'from the request', error: false }]);
  expect(ofKind(frames, 'run.resumed')[0]).not.toHaveProperty('workspace_lost');
});
