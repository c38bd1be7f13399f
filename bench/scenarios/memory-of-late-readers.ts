/**
 * The memory cost of a reader that comes after the end of a run, requests all of it and then stalls: how much resident
 * memory grows with 40 more of them, after garbage collection. The floor has the same bytes in memory and waits for its
 * readers in the same way. Neither side includes what the kernel keeps for a socket.
 *
 * The stream is longer than what the kernel buffers for a stalled reader, so all of them stall in the middle.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MEASURED_PROCESS, settledRssKib } from '../client/memory.ts';
import { StalledReaders } from '../client/stalled-readers.ts';
import { getStream } from '../client/streams.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';
import { delta, openPrepared } from './prepared-runs.ts';

const ROUNDS = 3;
const READERS = 40;
const EVENTS = 800;
const EVENT_CHARS = 20_000;
/** One page of events, which a reader may have unread, and as much again for the objects that hold it. */
const MOST_KIB = 512;

export async function memoryOfLateReaders(stage: Stage): Promise<Row[]> {
  const dataDir = stage.directory();
  const runId = await prepare(dataDir);
  const path = `/v1/runs/${runId}/events`;
  const file = join(stage.directory(), 'stream');
  const env = { NODE_OPTIONS: MEASURED_PROCESS.join(' ') };
  const { ours, floor } = await alternate(ROUNDS, {
    ours: async () => {
      await using own = stage.nested();
      const server = await own.server({ dataDir, env });
      const { bytes } = await getStream(`${server.url}${path}`, 'run.completed');
      writeFileSync(file, bytes);
      return await kibPerReader(server.pid, Number(new URL(server.url).port), path);
    },
    floor: async () => {
      await using own = stage.nested();
      const { pid, port } = await own.process('floors/paced.ts', [file], MEASURED_PROCESS);
      return await kibPerReader(pid, port, '/');
    },
  });
  return [
    {
      what: 'RSS per late, stalled reader',
      unit: 'KiB',
      better: 'less',
      ours,
      floor: { name: 'the same bytes, paced', rounds: floor },
      aim: { of: 'ours', atMost: MOST_KIB },
      note: `the second ${READERS} that ask for the ${(EVENTS * EVENT_CHARS) / 1_000_000} MB of a finished run and read nothing of it`,
    },
  ];
}

async function prepare(dataDir: string): Promise<string> {
  await using prepared = await openPrepared(dataDir);
  const [claim] = await prepared.claimedRuns(1);
  const text = 'y'.repeat(EVENT_CHARS);
  await prepared.journal.append(
    claim!,
    Array.from({ length: EVENTS }, () => delta(text)),
  );
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  await prepared.journal.append(claim!, [{ event: 'run.completed', public: { output: 'done', usage } }]);
  return claim!.runId;
}

/** The first readers stay connected, so that the growth is not hidden in memory that they freed. */
async function kibPerReader(pid: number, port: number, path: string): Promise<number> {
  using _before = await StalledReaders.connect(port, path, READERS);
  const beforeKib = await settledRssKib(pid);
  using _more = await StalledReaders.connect(port, path, READERS);
  return ((await settledRssKib(pid)) - beforeKib) / READERS;
}
