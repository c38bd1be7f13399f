/**
 * The memory cost of an idle subscriber: how much resident memory grows with 1 000 more of them on a silent run, after
 * garbage collection. The floor is an open response of node:http. Neither side includes what the kernel keeps for a
 * socket.
 *
 * The first 1 000 stay connected, so that the growth is not hidden in memory that they freed, and each round has its
 * own processes. In server and floor alike V8's young generation is held at its smallest: it grows with the traffic of
 * connecting and not with what is kept, by more than all the subscribers together.
 */

import { Crowd } from '../client/crowd.ts';
import { MEASURED_PROCESS, settledRssKib } from '../client/memory.ts';
import { createRun } from '../client/streams.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

const ROUNDS = 3;
const SUBSCRIBERS = 1_000;
export async function memoryOfSubscribers(stage: Stage): Promise<Row[]> {
  const model = await stage.process('processes/model.ts');
  const { ours, floor } = await alternate(ROUNDS, {
    floor: async () => {
      await using own = stage.nested();
      const { pid, port } = await own.process('floors/idle.ts', [], MEASURED_PROCESS);
      return await kibPerSubscriber(pid, port, '/');
    },
    ours: async () => {
      await using own = stage.nested();
      const server = await own.server({
        modelUrl: `http://127.0.0.1:${model.port}/v1`,
        env: { NODE_OPTIONS: MEASURED_PROCESS.join(' ') },
      });
      const runId = await createRun(server.url, 'bench:hang');
      return await kibPerSubscriber(server.pid, Number(new URL(server.url).port), `/v1/runs/${runId}/events`);
    },
  });
  return [
    {
      what: 'RSS per idle subscriber',
      unit: 'KiB',
      better: 'less',
      ours,
      floor: { name: 'open response', rounds: floor },
      aim: { of: 'ours', atMost: 14 },
      note: 'the second 1,000 subscribers of one silent run, after garbage collection',
    },
  ];
}

async function kibPerSubscriber(pid: number, port: number, path: string): Promise<number> {
  using _before = await Crowd.connect(port, path, SUBSCRIBERS);
  const beforeKib = await settledRssKib(pid);
  using _more = await Crowd.connect(port, path, SUBSCRIBERS);
  return ((await settledRssKib(pid)) - beforeKib) / SUBSCRIBERS;
}
