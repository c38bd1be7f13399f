/**
 * Durable creates: how many runs a second are accepted, each on disk before its 202, and how long the slowest wait.
 *
 * Fair because the same client sends the same requests to a node:http server that only parses the body and answers. The
 * runs stay in the queue (one worker, and a model that never answers), so that the row measures only their acceptance.
 */
import { postLoad } from '../client/post-load.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

const CONNECTIONS = 64;
const ROUNDS = 9;
const ROUND_MS = 1_200;
const NOTE =
  `${CONNECTIONS} keep-alive connections; the runs only queue (one worker, whose model hangs), and the queue ` +
  'grows from round to round';

export async function creates(stage: Stage): Promise<Row[]> {
  const model = await stage.process('processes/model.ts');
  const floor = await stage.process('floors/accept.ts');
  const server = await stage.server({
    modelUrl: `http://127.0.0.1:${model.port}/v1`,
    env: { TALARIA_MAX_CONCURRENT_RUNS: '1', TALARIA_MAX_QUEUED_RUNS: '1000000' },
  });
  const body = JSON.stringify({
    input: 'bench:hang Look through the logs of last night and say what went wrong.',
  });
  const measure = (port: number) => () =>
    postLoad({ port, path: '/v1/runs', body, connections: CONNECTIONS, durationMs: ROUND_MS });
  const sides = { floor: measure(floor.port), ours: measure(Number(new URL(server.url).port)) };

  await alternate(1, sides);
  const { ours, floor: bare } = await alternate(ROUNDS, sides);
  const name = 'bare 202';
  return [
    {
      what: 'durable creates',
      unit: '/s',
      better: 'more',
      ours: ours.map((round) => round.perSecond),
      floor: { name, rounds: bare.map((round) => round.perSecond) },
      aim: { of: 'ratio', atLeast: 0.25 },
      note: NOTE,
    },
    {
      what: 'durable creates, p99',
      unit: 'ms',
      better: 'less',
      ours: ours.map((round) => round.p99Ms),
      floor: { name: 'their own p50', rounds: ours.map((round) => round.p50Ms) },
      aim: { of: 'ratio', atMost: 3 },
      note: NOTE,
    },
  ];
}
