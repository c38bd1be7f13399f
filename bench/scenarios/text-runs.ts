/**
 * Whole text runs: from the POST that creates a run to the last byte of its stream, with a model that answers at once.
 *
 * The floor is a proxy that passes the prompt to the same model and its answer back: nothing is durable, nothing is
 * parsed. One run at a time shows what a run waits for, several at once what it costs.
 *
 * The aims were set as absolute figures, on machines whose proxy took 0.85 to 0.9 ms. Here they are multiples of the floor, so that
 * a slower machine does not decide whether they are met. The notes name the figures and the floors that these multiples are from.
 */

import { rssKib } from '../client/memory.ts';
import { processorMs } from '../client/process-figures.ts';
import { createAndStream, postStream, type StreamTimes } from '../client/streams.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate, median } from '../statistics.ts';

const ROUNDS = 5;
const SINGLE_RUNS = 60;
const RUNS_AT_ONCE = 400;
const INPUT = 'bench:say 1';
const MEMORY_RUNS = 1_000;

type Run = () => Promise<StreamTimes>;

export async function textRuns(stage: Stage): Promise<Row[]> {
  const model = await stage.process('processes/model.ts');
  const modelUrl = `http://127.0.0.1:${model.port}/v1`;
  const proxy = await stage.process('floors/proxy.ts', [modelUrl]);
  const server = await stage.server({ modelUrl, env: { TALARIA_MAX_CONCURRENT_RUNS: '32' } });
  const ours: Run = () => createAndStream(server.url, INPUT, 'run.completed');
  const bare: Run = () => postStream(`http://127.0.0.1:${proxy.port}/`, { input: INPUT }, '[DONE]');

  await atOnce(8, MEMORY_RUNS, ours);
  const rssMib = rssKib(server.pid) / 1024;

  const single = await alternate(ROUNDS, { floor: () => p50(bare), ours: () => p50(ours) });
  const eight = await alternate(ROUNDS, {
    floor: () => measured(proxy.pid, 8, bare),
    ours: () => measured(server.pid, 8, ours),
  });
  const many = await alternate(ROUNDS, {
    floor: () => measured(proxy.pid, 32, bare),
    ours: () => measured(server.pid, 32, ours),
  });
  const name = 'bare proxy of the model';
  return [
    {
      what: 'text run, create → end seen, p50',
      unit: 'ms',
      better: 'less',
      ours: single.ours,
      floor: { name, rounds: single.floor },
      aim: { of: 'ratio', atMost: 5.9 },
      note:
        'one run at a time; POST, then GET of the events until the stream ends; the floor is one POST; the aim is 5 ms ' +
        'where the proxy takes 0.85',
    },
    {
      what: 'text runs, 8 at once',
      unit: '/s',
      better: 'more',
      ours: eight.ours.map((round) => round.perSecond),
      floor: { name, rounds: eight.floor.map((round) => round.perSecond) },
      aim: { of: 'ratio', atLeast: 0.25 },
      note: 'the aim is 600 a second where the proxy reaches 2,400',
    },
    {
      what: 'text runs, 32 at once',
      unit: '/s',
      better: 'more',
      ours: many.ours.map((round) => round.perSecond),
      floor: { name, rounds: many.floor.map((round) => round.perSecond) },
      aim: { of: 'ratio', atLeast: 0.2 },
      note: 'the aim is 600 a second where the proxy reaches 3,000',
    },
    {
      what: 'processor time per text run, 8 at once',
      unit: 'ms',
      better: 'less',
      ours: eight.ours.map((round) => round.processorMs),
      floor: { name, rounds: eight.floor.map((round) => round.processorMs) },
      aim: { of: 'ratio', atMost: 6.7 },
      note:
        'all threads of the server, with what its clients cost it; the model and the clients are other processes; the aim ' +
        'is 2 ms where the proxy takes 0.3',
    },
    {
      what: `RSS after ${MEMORY_RUNS.toLocaleString('en')} text runs`,
      unit: 'MiB',
      better: 'less',
      ours: [rssMib],
      aim: { of: 'ours', atMost: 180 },
      note: 'at that moment, without a collection of garbage',
    },
  ];
}

async function p50(run: Run): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < SINGLE_RUNS; i++) {
    const sentAt = performance.now();
    times.push((await run()).endedAt - sentAt);
  }
  return median(times);
}

async function measured(pid: number, concurrent: number, run: Run) {
  const startedAt = performance.now();
  const before = processorMs([pid]);
  await atOnce(concurrent, RUNS_AT_ONCE, run);
  return {
    perSecond: RUNS_AT_ONCE / ((performance.now() - startedAt) / 1000),
    processorMs: (processorMs([pid]) - before) / RUNS_AT_ONCE,
  };
}

/** So many clients, each of which starts its next run when the last one has ended. */
async function atOnce(concurrent: number, runs: number, run: Run): Promise<void> {
  let left = runs;
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await run();
    }
  };
  await Promise.all(Array.from({ length: concurrent }, client));
}
