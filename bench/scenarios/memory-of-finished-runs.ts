/**
 * The memory cost of finished runs. A server keeps nothing of an ended run in memory, so the figure should be about
 * zero. Real runs through the real agent, with a model that answers at once.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../../test/support/wait-for.ts';
import { MEASURED_PROCESS, settledRssKib } from '../client/memory.ts';
import { postLoad } from '../client/post-load.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';

/** In batches with pauses, so that the row does not measure the peaks of bursts. */
const BATCH = 1_000;
/** The heap and the store's caches grow to their working size with the first runs, and stay there. */
const WARM_UP_BATCHES = 3;
/** Fewer than in the row's name, so that the bench ends in time; the memory per run does not depend on it. */
const BATCHES = 4;
const PER_RUNS = 10_000;
/** Longer than idle connections to the model are kept. */
const PAUSE_MS = 1_200;
const LIMIT_MS = 60_000;

export async function memoryOfFinishedRuns(stage: Stage): Promise<Row[]> {
  const model = await stage.process('processes/model.ts');
  const server = await stage.server({
    modelUrl: `http://127.0.0.1:${model.port}/v1`,
    env: {
      NODE_OPTIONS: MEASURED_PROCESS.join(' '),
      TALARIA_MAX_CONCURRENT_RUNS: '100',
      TALARIA_MAX_QUEUED_RUNS: '1000000',
    },
  });
  const finish = async (batches: number) => {
    for (let i = 0; i < batches; i++) await finishRuns(server.url, BATCH);
  };
  await finish(WARM_UP_BATCHES);
  const beforeKib = await settledRssKib(server.pid);
  await finish(BATCHES);
  const grownKib = (await settledRssKib(server.pid)) - beforeKib;
  return [
    {
      what: 'RSS per 10,000 finished runs',
      unit: 'MiB',
      better: 'less',
      ours: [(grownKib / 1024) * (PER_RUNS / (BATCHES * BATCH))],
      note:
        `from ${(BATCHES * BATCH).toLocaleString('en')} runs after ` +
        `${(WARM_UP_BATCHES * BATCH).toLocaleString('en')} of warm-up; the floor is nothing`,
    },
  ];
}

async function finishRuns(url: string, count: number): Promise<void> {
  const body = JSON.stringify({ input: 'bench:say 1' });
  await postLoad({ port: Number(new URL(url).port), path: '/v1/runs', body, connections: 16, count });
  await waitFor('the runs to finish', () => isIdle(url), LIMIT_MS);
  await delay(PAUSE_MS);
}

async function isIdle(url: string): Promise<boolean> {
  const health = (await (await fetch(`${url}/health/detailed`)).json()) as {
    queue: { queued: number; leased: number };
  };
  return health.queue.queued + health.queue.leased === 0;
}
