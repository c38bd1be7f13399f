/** The feed of runs survives what its servers do not: restarts, `kill -9`, slow readers. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { isTerminalStatus, type Run } from '@talaria/protocol';
import { describe, expect, test } from 'vitest';
import { sharedPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { FeedReader } from '../support/feed-reader.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { script, startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import type { RunningServer, ServerOptions } from '../support/server-settings.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ServerWithModel } from './server-with-model.ts';

const isOver = ({ status }: Run) => isTerminalStatus(status);
const say = (text: string) => script([{ text }]);

test('a reader continues after kill -9, and misses nothing of what happened before and after; a shutdown ends its stream in good order', async () => {
  await using world = await ServerWithModel.startProcess();
  const first = await FeedReader.open(world.api);
  const known = await world.api.create(say('known'));
  await first.shows(known, isOver);
  const { cursor } = first;
  await first[Symbol.asyncDispose]();
  const missed = await world.api.create(say('missed'));
  await endsAs(world.api, missed, 'run.completed');
  const cut = await world.api.create(script([{ hang: 'mid', chunks: ['half', 'rest'], times: 1 }]));
  await waitFor('the run to be under way', () => world.model.requests.length >= 3);
  await world.server.kill();
  await world.server.start();

  await using resumed = await FeedReader.open(world.api, cursor);
  await resumed.shows(missed, isOver);
  const last = await resumed.shows(cut, isOver);
  expect(last.status).toBe('completed');
  expect(resumed.latest(known)).toBeUndefined();

  await world.server.kill('SIGTERM');
  expect(await resumed.ended).toEqual({ clean: true });
  expect(resumed.comments.at(-1)).toBe('stream closed');
});

test('a reader that reads nothing costs nobody anything, and one that comes back has everything', async () => {
  await using world = await ServerWithModel.start({ TALARIA_SUBSCRIBER_BUFFER_BYTES: '65536' });
  const { hostname, port } = new URL(world.server.url);
  const stalled = connect(Number(port), hostname);
  stalled.on('error', () => {});
  stalled.pause();
  stalled.write('GET /v1/feed HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(stalled, 'connect');
  await using feed = await FeedReader.open(world.api);
  const begin = feed.cursor;
  const ids: string[] = [];
  for (let i = 0; i < 10; i++) ids.push(await world.api.create(say(`run ${i}`)));
  for (const runId of ids) await feed.shows(runId, isOver);
  stalled.destroy();
  await using again = await FeedReader.open(world.api, begin);
  for (const runId of ids) await again.shows(runId, isOver);
  expect(new Set(again.frames.map(({ change }) => change.run.run_id))).toEqual(new Set(ids));
});

describe('with two servers on Postgres, the feed of one shows the run of the other', () => {
  test('also when the other stops, and a third continues the run', () =>
    followsTheRun(HostedServer.start, (working) => working.stop()));

  // The reader hears of the same changes, but only when the lease is over.
  test('also when the other is killed', { tags: ['soak'] }, () =>
    followsTheRun(ServerProcess.start, (working) => working.kill()),
  );

  async function followsTheRun<Working extends RunningServer>(
    startWorking: (options: ServerOptions) => Promise<Working>,
    end: (working: Working) => Promise<unknown>,
  ): Promise<void> {
    await using cleanup = new AsyncDisposableStack();
    const [postgres, model] = await Promise.all([sharedPostgres(), startModelServer()]);
    cleanup.defer(() => postgres.stop());
    cleanup.defer(() => model.close());
    const env = { TALARIA_DATABASE_URL: await postgres.createDatabase() };
    // The first only serves clients, so the second does the work.
    const serving = cleanup.use(
      await HostedServer.start({ modelUrl: model.url, env: { ...env, TALARIA_ROLE: 'http' } }),
    );
    const working = cleanup.use(await startWorking({ modelUrl: model.url, env }));
    const api = new Api(serving.url);
    await using feed = await FeedReader.open(api);

    const quick = await api.create(say('quick'));
    expect(await feed.shows(quick, isOver)).toMatchObject({ status: 'completed' });

    const steps = [{ hang: 'mid' as const, chunks: ['half of it, ', 'and the rest'], times: 1 }];
    const cut = await api.create(script(steps));
    await feed.shows(cut, ({ status, last_seq }) => status === 'running' && last_seq !== undefined);
    await end(working);
    cleanup.use(await HostedServer.start({ modelUrl: model.url, env }));
    const last = await feed.shows(cut, isOver);
    const { data } = await api.list('?view=head');
    expect(last).toEqual(data.find(({ run_id }) => run_id === cut));
    expect(last.status).toBe('completed');
  }
});
