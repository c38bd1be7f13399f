/**
 * The server counts what a finished run takes on the disk (`TALARIA_RUN_DISK_BYTES`). This compares the count with what the run wrote
 * and with how much the file of the store grew. The model is that of the tests, in this process.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { script, startModelServer } from '../../test/support/model-server.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { createAndStream } from '../client/streams.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';

const RUNS = 400;
const FILE_BYTES = 100_000;
const KB = 1000;
/** A sweep every ten seconds, and no run is too old before the end. */
const ENV = { TALARIA_RUN_RETENTION_SECONDS: '100' };
/** Longer than two sweeps. */
const STABLE_MS = 22_000;
const LIMIT_MS = 60_000;

const TEXT = [{ text: 'a word of an answer '.repeat(50) }];
const WRITE = `head -c ${FILE_BYTES} /dev/urandom > file`;
const TOOL = [{ tools: [{ name: 'terminal', arguments: { command: WRITE } }] }, { text: 'done' }];

export async function diskOfFinishedRuns(stage: Stage): Promise<Row[]> {
  await using model = await startModelServer();
  const [text, tool] = await Promise.all([
    measure(stage, model.url, () => script(TEXT)),
    measure(stage, model.url, () => script(TOOL)),
  ]);
  return [
    row('disk of a run with an answer of 1 kB', text, 'prompt, answer and records'),
    row(
      `disk of a run that writes ${FILE_BYTES / KB} kB`,
      tool,
      'the file counts twice: workspace and checkpoint',
    ),
  ];
}

interface Disk {
  /** By the server's count, a run. */
  counted: number;
  /** How much the file of the store grew, a run. */
  store: number;
}

function row(what: string, { counted, store }: Disk, note: string): Row {
  return {
    what,
    unit: 'kB',
    better: 'less',
    ours: [counted / KB],
    note: `${note}; talaria.db grew by ${(store / KB).toFixed(1)} kB a run`,
  };
}

async function measure(stage: Stage, modelUrl: string, input: () => string): Promise<Disk> {
  const dataDir = stage.directory();
  const storeBytes = () => statSync(join(dataDir, 'talaria.db')).size;
  const options = { modelUrl, dataDir, env: ENV };
  await (await stage.server(options)).kill('SIGTERM');
  const before = storeBytes();
  const server = await stage.server(options);
  for (let i = 0; i < RUNS; i++) await createAndStream(server.url, input(), 'run.completed');
  const used = await settled(server.url);
  await server.kill('SIGTERM');
  return { counted: used / RUNS, store: (storeBytes() - before) / RUNS };
}

/** Files are measured by sweeps, some seconds after the ends of their runs. */
async function settled(url: string): Promise<number> {
  let [last, since] = [0, performance.now()];
  await waitFor(
    'the sizes of the runs',
    async () => {
      await delay(1_000);
      const health = (await (await fetch(`${url}/health/detailed`)).json()) as {
        readiness: { checks: { disk: { used_bytes: number } } };
      };
      const used = health.readiness.checks.disk.used_bytes;
      if (used !== last) [last, since] = [used, performance.now()];
      return last > 0 && performance.now() - since > STABLE_MS;
    },
    LIMIT_MS,
  );
  return last;
}
