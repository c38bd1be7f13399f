/** Several servers on one Postgres are one service: any of them serves any run, and survives the others. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type SharedPostgres,
  sharedPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import type { RunningServer } from '../support/server-settings.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  endsAs,
  markedSleep,
  names,
  ofKind,
  processesWith,
  shownText,
  terminal,
  waitForApproval,
  waitForStatus,
} from './server-with-model.ts';

let postgres: SharedPostgres;
let model: ModelServer;
let url: string;
let hosted: HostedServer;
/** It ends in the last test, and prints what it does. */
let mortal: ServerProcess;
let servers: RunningServer[];

beforeAll(async () => {
  [postgres, model] = await Promise.all([sharedPostgres(), startModelServer()]);
  url = await postgres.createDatabase();
  [hosted, mortal] = await Promise.all([
    HostedServer.start(settings()),
    ServerProcess.start(settings({ TALARIA_LOG_LEVEL: 'debug' })),
  ]);
  servers = [hosted, mortal];
});
afterAll(async () => {
  for (const server of servers ?? []) await server[Symbol.asyncDispose]();
  await model?.close();
  await postgres?.stop();
});

function settings(env: Record<string, string> = {}) {
  const own = {
    TALARIA_DATABASE_URL: url,
    TALARIA_LEASE_SECONDS: '3',
    TALARIA_INLINE_GRACE_SECONDS: '1',
  };
  return { modelUrl: model.url, env: { ...own, ...env } };
}

const apiOf = (server: RunningServer) => new Api(server.url);

async function activeRuns(server: RunningServer): Promise<number> {
  const { body } = await apiOf(server).get<{ active_agents: number }>('/health/detailed');
  return body.active_agents;
}

/** The one of them that works on the only run, and another. */
async function ownerAmong(some: readonly RunningServer[]) {
  const owner = await waitFor('a server to work on the run', async () => {
    for (const server of some) if ((await activeRuns(server)) === 1) return server;
    return undefined;
  });
  return { owner, other: some.find((server) => server !== owner)! };
}

describe('two servers', () => {
  test('stream, show and list a run that the other works on', async () => {
    const steps = [
      { tools: [terminal('echo hello')] },
      { text: 'All of it is done.', chunks: 5, delayMs: 30 },
    ];
    const runId = await apiOf(servers[0]!).create(script(steps));
    const [first, second] = await Promise.all(
      servers.map((server) => endsAs(apiOf(server), runId, 'run.completed')),
    );
    expect(first!.frames).toEqual(second!.frames);
    expect(shownText(first!.frames)).toBe('All of it is done.');
    for (const server of servers) {
      expect(await apiOf(server).run(runId)).toMatchObject({
        status: 'completed',
        output: 'All of it is done.',
      });
      const { body } = await apiOf(server).get<{ data: { run_id: string }[] }>('/v1/runs');
      expect(body.data.map(({ run_id }) => run_id)).toContain(runId);
    }
  });

  test('stop a run that the other works on, with its processes', async () => {
    const { command, marker } = markedSleep();
    const runId = await apiOf(servers[0]!).create(script([{ tools: [terminal(command)] }, { text: 'late' }]));
    const { other } = await ownerAmong(servers);
    await waitFor('the command to run', () => processesWith(marker).length > 0);
    expect((await apiOf(other).stop(runId)).status).toBe(200);
    await endsAs(apiOf(other), runId, 'run.cancelled');
    expect(processesWith(marker)).toEqual([]);
  });

  test('answer and steer a run that the other accepted', async () => {
    const steps = [{ tools: [terminal('rm -rf build; echo gone')] }, { text: 'done' }];
    const [first, other] = servers as [RunningServer, RunningServer];
    const runId = await apiOf(first).create(script(steps));
    const { request_id } = await waitForApproval(apiOf(other), runId);
    expect((await apiOf(other).post(`/v1/runs/${runId}/steer`, { input: 'and be quick' })).status).toBe(200);
    expect((await apiOf(other).approve(runId, 'once', { request_id })).status).toBe(200);
    const { frames } = await endsAs(apiOf(other), runId, 'run.completed');
    expect(ofKind(frames, 'tool.completed')).toMatchObject([{ error: false, exit_code: 0 }]);
    expect(ofKind(frames, 'run.steered')).toMatchObject([{ input: 'and be quick' }]);
  });

  test('create one run for one idempotency key', async () => {
    const input = script([{ text: 'once' }]);
    const headers = { 'idempotency-key': 'k' };
    const created = await Promise.all(
      [...servers, ...servers, ...servers].map((server) =>
        apiOf(server).request<{ run_id: string; replayed: boolean }>('POST', '/v1/runs', {
          body: { input },
          headers,
        }),
      ),
    );
    expect(new Set(created.map(({ body }) => body.run_id)).size).toBe(1);
    expect(created.filter(({ body }) => !body.replayed)).toHaveLength(1);
  });

  test('fire each job once', async () => {
    const [first, second] = servers.map(apiOf);
    let at = Date.now() + 3000;
    const names = Array.from({ length: 10 }, (_, i) => `job ${i}`);
    for (const name of names) {
      await waitFor('the job to be accepted', async () => {
        // Usually all are due at once. A busy machine may need longer than that to create them.
        if (Date.now() > at) at = Date.now() + 3000;
        const job = { name, schedule: new Date(at).toISOString(), prompt: script([{ text: name }]) };
        return (await first!.post('/api/jobs', job)).status === 200;
      });
    }
    // A job that runs once is deleted with the end of its run.
    await waitFor('every job to have run', async () => {
      const { body } = await second!.get<{ jobs: unknown[] }>('/api/jobs?include_disabled=true');
      return body.jobs.length === 0;
    });
    const { data } = await second!.list();
    const outputs = data.map(({ output }) => output).filter((output) => output?.startsWith('job '));
    expect(outputs.sort()).toEqual(names);
  });

  test('serve a client that waits for an answer at another server than the first; when nobody waits anywhere the run is stopped', async () => {
    const gate = `gate-${randomUUID()}`;
    const body = JSON.stringify({ messages: [{ role: 'user', content: script([{ gate, text: 'late' }]) }] });
    const ask = ({ url: base }: RunningServer): AbortController => {
      const leaving = new AbortController();
      const request = { method: 'POST', headers: { 'idempotency-key': gate }, body, signal: leaving.signal };
      fetch(`${base}/v1/chat/completions`, request).catch(() => {});
      return leaving;
    };
    const atFirst = ask(mortal);
    await model.waitingAt(gate);
    const [run] = (await apiOf(mortal).list()).data;
    const atSecond = ask(hosted);
    await waitFor('the second to have a reader', async () => {
      const { body: health } = await apiOf(hosted).get<{
        platforms: { api_server: { subscribers: number } };
      }>('/health/detailed');
      return health.platforms.api_server.subscribers === 1;
    });
    atFirst.abort();
    await waitFor('the first to ask the second', () =>
      mortal.errors.includes('a client of another server does'),
    );
    expect((await apiOf(mortal).run(run!.run_id)).status).toBe('running');
    atSecond.abort();
    await endsAs(apiOf(mortal), run!.run_id, 'run.cancelled');
  });

  test('lose and repeat nothing in a restart of the database in the middle of a run', async () => {
    const api = apiOf(hosted);
    const steps = [{ tools: [terminal('echo one')] }, { text: 'x'.repeat(200), chunks: 40, delayMs: 50 }];
    const runId = await api.create(script(steps));
    const watched = endsAs(api, runId, 'run.completed');
    await waitFor('text to be shown', async () => (await api.run(runId)).last_event === 'tool.completed');
    await postgres.restart(async () => {
      const { body } = await api.get<{ readiness: { checks: { store: { status: string } } } }>(
        '/health/detailed',
      );
      expect(body.readiness.checks.store.status).toBe('failed');
    });
    const { frames } = await watched;
    expect(shownText(frames)).toBe('x'.repeat(200));
    await waitForStatus(api, runId, 'completed');
  });

  test('end the processes of a run that a third has taken over, even if they have nothing to write', async () => {
    const { command, marker } = markedSleep();
    const runId = await apiOf(hosted).create(script([{ tools: [terminal(command)] }, { text: 'done' }]));
    await waitFor('the tool to run', () => processesWith(marker).length > 0);
    const other = new pg.Client(url);
    await other.connect();
    const { rowCount } = await other.query(
      `UPDATE runs SET epoch = epoch + 1, lease_owner = 'other', lease_until = lease_until + 600000
       WHERE run_id = $1`,
      [runId],
    );
    expect(rowCount).toBe(1);
    await other.end();
    await waitFor('the processes to be ended', () => processesWith(marker).length === 0);
    expect((await apiOf(hosted).run(runId)).status).toBe('running');
  });

  // rolling-restart.test.ts shows it in npm test, with more runs.
  test('hand over at once what one of them has to release', { tags: ['soak'] }, async () => {
    const gate = `gate-${randomUUID()}`;
    await hosted.stop();
    const runId = await apiOf(mortal).create(script([{ gate, tools: [terminal('true')] }, { text: 'done' }]));
    await model.waitingAt(gate);
    await hosted.restart();
    const ended = mortal.kill('SIGTERM');
    await waitFor('the server to drain', () => (mortal.output + mortal.errors).includes('SIGTERM'));
    model.open(gate);
    await ended;
    await endsAs(apiOf(hosted), runId, 'run.completed');
    await mortal.start();
  });

  test('continue the runs of a killed one, and repeat no call of unknown outcome', async () => {
    const { command, marker } = markedSleep();
    const steps = [
      { tools: [terminal('echo kept > file')] },
      { text: 'Wait. ', tools: [terminal(command)] },
      { text: 'That was cut off.' },
    ];
    const input = script(steps);
    // The one that will be killed is the only one when the run begins.
    await hosted.stop();
    const runId = await apiOf(mortal).create(input);
    await waitFor('the command to run', () => processesWith(marker).length > 0);
    await hosted.restart();
    const watched = endsAs(apiOf(hosted), runId, 'run.completed');
    await mortal.kill();
    const { frames } = await watched;
    expect(names(frames).filter((name) => name === 'tool.started')).toHaveLength(2);
    expect(ofKind(frames, 'tool.completed')).toMatchObject([{ error: false }, { error: true }]);
    expect(ofKind(frames, 'run.resumed')).toMatchObject([{ workspace_restored: true }]);
    const scriptId = /SCRIPT id=(\S+)/.exec(input)?.[1];
    const { body } = await model.waitForRequest(
      (request) => request.scriptId === scriptId && request.step === 2,
    );
    expect(JSON.stringify(body.messages)).toContain('This run continues on another machine.');
    expect(shownText(frames)).toBe('Wait. That was cut off.');
  });
});

test('a database that cannot be reached fails the start, without the password', async () => {
  await using server = new ServerProcess({
    env: { TALARIA_DATABASE_URL: 'postgres://talaria:s3cret-word@127.0.0.1:1/runs' },
  });
  expect((await server.startAndExit()).code).not.toBe(0);
  expect(server.errors).toContain('127.0.0.1:1');
  expect(server.errors + server.output).not.toContain('s3cret-word');
});
