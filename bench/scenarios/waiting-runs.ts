/**
 * The cost of runs that wait for a client tool or for an approval. Such a run has no worker and no slot, and the server keeps
 * nothing of it in memory: everything is in the store. So the growth per run should be about zero, and another run should start
 * beside thousands of them as it does on a server without any.
 */
import { script, startModelServer } from '../../test/support/model-server.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { MEASURED_PROCESS, settledRssKib } from '../client/memory.ts';
import { postLoad } from '../client/post-load.ts';
import { createAndStream } from '../client/streams.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate, median } from '../statistics.ts';

/** The heap and the store's caches grow to their working size with the first runs, and stay there. */
const WARM_UP = 1_000;
const WAITING = 1_000;
const ROUNDS = 5;
const RUNS_PER_ROUND = 20;
const LIMIT_MS = 120_000;

const LOOKUP = [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } }];
const GATED = { name: 'terminal', arguments: { command: 'rm -rf build' } };

const WAITS = {
  'their client': { input: script([{ tools: [{ name: 'lookup', arguments: {} }] }]), tools: LOOKUP },
  'an approval': { input: script([{ tools: [GATED] }]) },
};

export async function waitingRuns(stage: Stage): Promise<Row[]> {
  await using model = await startModelServer();
  const env = {
    NODE_OPTIONS: MEASURED_PROCESS.join(' '),
    TALARIA_MAX_QUEUED_RUNS: '1000000',
    TALARIA_APPROVAL_TIMEOUT_SECONDS: '86400',
  };
  const server = await stage.server({ modelUrl: model.url, env });
  const rows: Row[] = [];
  let waiting = 0;
  const wait = async (body: object, count: number): Promise<void> => {
    waiting += count;
    await startWaiting(server.url, JSON.stringify(body), count, waiting);
  };
  for (const [what, body] of Object.entries(WAITS)) {
    await wait(body, WARM_UP);
    const beforeKib = await settledRssKib(server.pid);
    await wait(body, WAITING);
    const grownKib = (await settledRssKib(server.pid)) - beforeKib;
    rows.push({
      what: `RSS per 1,000 runs that wait for ${what}`,
      unit: 'MiB',
      better: 'less',
      ours: [grownKib / 1024],
      note: `after ${WARM_UP.toLocaleString('en')} that wait already; the floor is nothing`,
    });
  }
  const empty = await stage.server({ modelUrl: model.url, env });
  const sides = { floor: () => firstText(empty.url), ours: () => firstText(server.url) };
  await alternate(1, sides);
  const { ours, floor } = await alternate(ROUNDS, sides);
  rows.push({
    what: `create → first event beside ${waiting.toLocaleString('en')} waiting runs, p50`,
    unit: 'ms',
    better: 'less',
    ours,
    floor: { name: 'the same server without them', rounds: floor },
  });
  return rows;
}

async function startWaiting(url: string, body: string, count: number, waiting: number): Promise<void> {
  await postLoad({ port: Number(new URL(url).port), path: '/v1/runs', body, connections: 16, count });
  await waitFor('the runs to wait', async () => (await numberWaiting(url)) === waiting, LIMIT_MS);
}

async function numberWaiting(url: string): Promise<number> {
  const health = (await (await fetch(`${url}/health/detailed`)).json()) as { queue: { waiting: number } };
  return health.queue.waiting;
}

async function firstText(url: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < RUNS_PER_ROUND; i++) {
    const sentAt = performance.now();
    times.push((await createAndStream(url, script([{ text: 'hi' }]), 'message.delta')).firstAt - sentAt);
  }
  return median(times);
}
