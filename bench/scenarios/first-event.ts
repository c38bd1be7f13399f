/**
 * Create → first event: from sending the POST to receiving the first text of the model, one run at a time.
 *
 * The floor is a proxy that passes the prompt to the same model and the first bytes back: one request where ours
 * takes two, nothing durable, nothing parsed. The difference is what create, claim, commit and subscribe cost.
 */
import { createAndStream, postStream } from '../client/streams.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate, median } from '../statistics.ts';

const ROUNDS = 5;
const RUNS_PER_ROUND = 40;
const INPUT = 'bench:say 1';

export async function firstEvent(stage: Stage): Promise<Row[]> {
  const model = await stage.process('processes/model.ts');
  const modelUrl = `http://127.0.0.1:${model.port}/v1`;
  const proxy = await stage.process('floors/proxy.ts', [modelUrl]);
  const server = await stage.server({ modelUrl });
  const sides = {
    floor: () => p50(() => postStream(`http://127.0.0.1:${proxy.port}/`, { input: INPUT }, '"content"')),
    ours: () => p50(() => createAndStream(server.url, INPUT, 'message.delta')),
  };
  await alternate(1, sides);
  const { ours, floor } = await alternate(ROUNDS, sides);
  return [
    {
      what: 'create → first event, p50',
      unit: 'ms',
      better: 'less',
      ours,
      floor: { name: 'bare proxy of the model', rounds: floor },
      note: 'POST, then GET of the events; the floor is one POST that answers with the stream',
    },
  ];
}

async function p50(run: () => Promise<{ firstAt: number }>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < RUNS_PER_ROUND; i++) {
    const sentAt = performance.now();
    times.push((await run()).firstAt - sentAt);
  }
  return median(times);
}
