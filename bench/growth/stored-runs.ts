/**
 * How the cost of a run and of what people look at grows with the finished runs in the store. The store is filled with
 * copies of one real run, so each has its records, its state and its place in every index.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { watchFeed } from '../client/feed.ts';
import { createAndStream, createRun, getStream } from '../client/streams.ts';
import type { Stage } from '../stage.ts';
import { median } from '../statistics.ts';
import { copyRuns } from './copy-runs.ts';
import { medianMs, type Point, type Question } from './question.ts';

const TIMES = 15;
const FEED_TIMES = 7;
/** Longer than the feed collects. */
const FEED_PAUSE_MS = 300;
const INPUT = 'bench:say 5';
/** The server evicts none of the stored runs: it keeps them for a week. */
const KEEP = { TALARIA_MAX_QUEUED_RUNS: '1000' };

export const storedRuns: Question = {
  of: 'stored runs',
  sizes: [1_000, 10_000, 100_000, 1_000_000],
  async *measure(stage, sizes) {
    const model = await stage.process('processes/model.ts');
    const modelUrl = `http://127.0.0.1:${model.port}/v1`;
    const dataDir = stage.directory();
    let stored = 0;
    for (const size of sizes) {
      if (stored === 0) await makeOriginal(stage, modelUrl, dataDir);
      copyRuns(dataDir, size);
      stored = size;
      await using own = stage.nested();
      yield await measureStore(own, modelUrl, dataDir, size);
    }
  },
};

async function makeOriginal(stage: Stage, modelUrl: string, dataDir: string): Promise<void> {
  await using own = stage.nested();
  const server = await own.server({ modelUrl, dataDir, env: KEEP });
  await createAndStream(server.url, INPUT, 'run.completed');
  await server.kill('SIGTERM');
}

async function measureStore(stage: Stage, modelUrl: string, dataDir: string, size: number): Promise<Point> {
  const startedAt = performance.now();
  const server = await stage.server({ modelUrl, dataDir, env: KEEP });
  const start = performance.now() - startedAt;
  const { url } = server;
  const get = (path: string) => medianMs(TIMES, () => getStream(`${url}${path}`, '{'));
  const runId = await createRun(url, INPUT);
  const ms = {
    'start of the server': start,
    ...(await timeRuns(url)),
    'create → shown in the feed': await timeFeed(url),
    'poll a run': await get(`/v1/runs/${runId}`),
    'list, newest page': await get('/v1/runs?limit=50'),
    'list, failed runs (none)': await get('/v1/runs?limit=50&status=failed'),
  };
  await server.kill('SIGTERM');
  return { size, ms };
}

/** One after the other: a create does not compete with the work on the run before. */
async function timeRuns(url: string): Promise<Point['ms']> {
  const created: number[] = [];
  const ended: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    const startedAt = performance.now();
    const runId = await createRun(url, INPUT);
    created.push(performance.now() - startedAt);
    const { endedAt } = await getStream(`${url}/v1/runs/${runId}/events`, 'run.completed');
    ended.push(endedAt - startedAt);
  }
  return { 'create a run': median(created), 'a text run (create → end)': median(ended) };
}

/** With a pause before each run: the feed shows the first change at once, and collects what follows for a while. */
async function timeFeed(url: string): Promise<number> {
  const took: number[] = [];
  using feed = await watchFeed(url);
  for (let i = 0; i < FEED_TIMES; i++) {
    await delay(FEED_PAUSE_MS);
    const startedAt = performance.now();
    const runId = await createRun(url, INPUT);
    took.push((await feed.seen(runId)) - startedAt);
  }
  return median(took);
}
