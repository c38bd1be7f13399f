/** Start → listening: from spawning the command, with an empty data directory, to the first response. */
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';
import { answers, timeBareStart } from './bare-start.ts';
import { fillCompileCache } from './compile-cache.ts';

const ROUNDS = 7;

export async function start(stage: Stage): Promise<Row[]> {
  const sides = {
    floor: timeBareStart,
    ours: async () => {
      await using own = stage.nested();
      const startedAt = performance.now();
      const server = await own.server({});
      await answers(server.url);
      return (performance.now() - startedAt) / 1000;
    },
  };
  await fillCompileCache(stage);
  const { ours, floor } = await alternate(ROUNDS, sides);
  return [
    {
      what: 'start → listening',
      unit: 's',
      better: 'less',
      ours,
      floor: { name: 'bare node:http', rounds: floor.map((ms) => ms / 1000) },
      aim: { of: 'ours', atMost: 0.6 },
      note: 'empty data directory, warm compile cache (every start but the first)',
    },
  ];
}
