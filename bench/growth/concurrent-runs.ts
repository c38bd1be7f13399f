/**
 * How the cost of a run grows with the runs in work beside it: of one that starts while others wait for their model, and
 * of all when many are created at once.
 */
import { waitFor } from '../../test/support/wait-for.ts';
import { createAndStream, createRun } from '../client/streams.ts';
import type { Stage } from '../stage.ts';
import { medianMs, type Point, type Question } from './question.ts';

const TIMES = 15;
const BURSTS = 3;
const LIMIT_MS = 60_000;
const INPUT = 'bench:say 5';

export const concurrentRuns: Question = {
  of: 'concurrent runs',
  sizes: [1, 10, 100, 1_000],
  async *measure(stage, sizes) {
    const model = await stage.process('processes/model.ts');
    for (const size of sizes) {
      await using own = stage.nested();
      yield await measureBeside(own, `http://127.0.0.1:${model.port}/v1`, size);
    }
  },
};

async function measureBeside(stage: Stage, modelUrl: string, size: number): Promise<Point> {
  const env = { TALARIA_MAX_CONCURRENT_RUNS: String(size + 1), TALARIA_MAX_QUEUED_RUNS: '10000' };
  const { url } = await stage.server({ modelUrl, env });
  const run = () => createAndStream(url, INPUT, 'run.completed');
  const all = await medianMs(BURSTS, () => Promise.all(Array.from({ length: size }, run)), 1);
  await Promise.all(Array.from({ length: size }, () => createRun(url, 'bench:hang')));
  await waitFor('the runs to be in work', async () => (await leased(url)) === size, LIMIT_MS);
  const beside = await medianMs(TIMES, run);
  return {
    size,
    ms: { 'all, created at once → last end': all, 'one more (create → end)': beside },
  };
}

async function leased(url: string): Promise<number> {
  const health = (await (await fetch(`${url}/health/detailed`)).json()) as { queue: { leased: number } };
  return health.queue.leased;
}
