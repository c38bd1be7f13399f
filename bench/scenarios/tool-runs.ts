/**
 * Whole runs with one tool: the model asks for a command that does nothing, gets its output, and answers. From the POST that
 * creates a run to the last byte of its stream, in the sandbox that a server has by default, isolated and limited.
 *
 * Every run has a new workspace and a new slot, so each command is the first of its slot. Beside it stands a bare spawn of
 * the same shell from this process. The model is that of the tests, in this process.
 */
import { script, startModelServer } from '../../test/support/model-server.ts';
import { medianTime } from '../client/commands.ts';
import { createAndStream } from '../client/streams.ts';
import { bareSpawn } from '../floors/bare-commands.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

const ROUNDS = 5;
const SINGLE_RUNS = 25;
const WIDTH = 8;
const RUNS_AT_ONCE = 160;
const CALL = { tools: [{ name: 'terminal', arguments: { command: 'true' } }] };

export async function toolRuns(stage: Stage): Promise<Row[]> {
  await using model = await startModelServer();
  const server = await stage.server({ modelUrl: model.url, env: { TALARIA_MAX_CONCURRENT_RUNS: '32' } });
  const run = async () => {
    const { bytes } = await createAndStream(server.url, script([CALL, { text: 'done' }]), 'run.completed');
    // A call of a tool that does not exist completes, too.
    if (!bytes.includes('"exit_code":0')) throw new Error(`The run carried out no command: ${bytes}`);
  };
  await atOnce(RUNS_AT_ONCE, run);
  const single = await alternate(ROUNDS, {
    floor: () => medianTime(SINGLE_RUNS, bareSpawn),
    ours: () => medianTime(SINGLE_RUNS, run),
  });
  const { ours: perSecond } = await alternate(ROUNDS, {
    ours: async () => {
      const startedAt = performance.now();
      await atOnce(RUNS_AT_ONCE, run);
      return RUNS_AT_ONCE / ((performance.now() - startedAt) / 1000);
    },
  });
  return [
    {
      what: 'tool run, create → end seen, p50',
      unit: 'ms',
      better: 'less',
      ours: single.ours,
      floor: { name: 'bare spawn', rounds: single.floor },
      aim: { of: 'ratio', atMost: 4.4 },
      note: 'one run at a time; the model is asked twice; the aim is 15 ms where a bare spawn takes 3.4',
    },
    {
      what: `tool runs, ${WIDTH} at once`,
      unit: '/s',
      better: 'more',
      ours: perSecond,
      aim: { of: 'ours', atLeast: 200 },
    },
  ];
}

/** So many clients, each of which starts its next run when the last one has ended. */
async function atOnce(runs: number, run: () => Promise<void>): Promise<void> {
  let left = runs;
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await run();
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, client));
}
