/**
 * Replay: a client requests a finished run of 10 000 events, measured from its request to the end of the stream. The
 * floor sends the same bytes out of memory.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getStream } from '../client/streams.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';
import { delta, openPrepared } from './prepared-runs.ts';

const ROUNDS = 11;
const EVENTS = 10_000;

export async function replay(stage: Stage): Promise<Row[]> {
  const dataDir = stage.directory();
  const runId = await prepare(dataDir);
  const server = await stage.server({ dataDir });
  const url = `${server.url}/v1/runs/${runId}/events`;
  const { bytes } = await getStream(url, 'run.completed');
  const file = join(stage.directory(), 'stream');
  writeFileSync(file, bytes);
  const floor = await stage.process('floors/bytes.ts', [file]);

  const sides = {
    floor: () => timeStream(`http://127.0.0.1:${floor.port}/`, bytes.length),
    ours: () => timeStream(url, bytes.length),
  };
  await alternate(2, sides);
  const rounds = await alternate(ROUNDS, sides);
  return [
    {
      what: 'replay of 10,000 events',
      unit: 'ms',
      better: 'less',
      ours: rounds.ours,
      floor: { name: 'the same bytes from memory', rounds: rounds.floor },
      aim: { of: 'ratio', atMost: 3 },
    },
  ];
}

async function prepare(dataDir: string): Promise<string> {
  await using prepared = await openPrepared(dataDir);
  const [claim] = await prepared.claimedRuns(1);
  const { journal } = prepared;
  await journal.append(
    claim!,
    Array.from({ length: EVENTS - 1 }, (_, i) => delta(` word ${i}`)),
  );
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  await journal.append(claim!, [{ event: 'run.completed', public: { output: 'done', usage } }]);
  return claim!.runId;
}

async function timeStream(url: string, expectedBytes: number): Promise<number> {
  const startedAt = performance.now();
  const { endedAt, bytes } = await getStream(url, 'run.completed');
  if (bytes.length !== expectedBytes)
    throw new Error(`${url} sent ${bytes.length} of ${expectedBytes} bytes`);
  return endedAt - startedAt;
}
