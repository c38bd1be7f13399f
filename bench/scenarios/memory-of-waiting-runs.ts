/**
 * The memory cost of runs that wait for a client tool. While such a run waits, it has no worker and no slot, and the
 * server keeps nothing of it in memory: everything is in the store. So the growth per run should be about zero.
 */
import { script, startModelServer } from '../../test/support/model-server.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { MEASURED_PROCESS, settledRssKib } from '../client/memory.ts';
import { postLoad } from '../client/post-load.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';

/** The heap and the store's caches grow to their working size with the first runs, and stay there. */
const WARM_UP = 1_000;
const WAITING = 1_000;
const LIMIT_MS = 120_000;

export async function memoryOfWaitingRuns(stage: Stage): Promise<Row[]> {
  await using model = await startModelServer();
  const server = await stage.server({
    modelUrl: model.url,
    env: { NODE_OPTIONS: MEASURED_PROCESS.join(' '), TALARIA_MAX_QUEUED_RUNS: '1000000' },
  });
  await startWaiting(server.url, WARM_UP);
  const beforeKib = await settledRssKib(server.pid);
  await startWaiting(server.url, WAITING);
  const grownKib = (await settledRssKib(server.pid)) - beforeKib;
  return [
    {
      what: 'RSS per 1,000 runs that wait for their client',
      unit: 'MiB',
      better: 'less',
      ours: [grownKib / 1024],
      note: `after ${WARM_UP.toLocaleString('en')} that wait already; the floor is nothing`,
    },
  ];
}

async function startWaiting(url: string, count: number): Promise<void> {
  const tools = [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } }];
  const input = script([{ tools: [{ name: 'lookup', arguments: {} }] }]);
  const body = JSON.stringify({ input, tools });
  await postLoad({ port: Number(new URL(url).port), path: '/v1/runs', body, connections: 16, count });
  await waitFor('the runs to wait', () => isIdle(url), LIMIT_MS);
}

async function isIdle(url: string): Promise<boolean> {
  const health = (await (await fetch(`${url}/health/detailed`)).json()) as {
    queue: { queued: number; leased: number };
  };
  return health.queue.queued + health.queue.leased === 0;
}
