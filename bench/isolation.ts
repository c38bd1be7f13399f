/**
 * Measures what each isolation costs, one beside the other, and writes it into docs/isolation.md: `npm run docs:isolation`. An
 * isolation that this machine does not have keeps its column empty, with the reason on the terminal.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { replaceMarkedPart, table } from '../docs/tables/marked-part.ts';
import type { Slot, ToolBackend } from '../packages/sandbox/src/backend.ts';
import { DockerBackend } from '../packages/sandbox/src/docker/docker-backend.ts';
import {
  callDocker,
  openTestDaemon,
  TEST_IMAGE,
  type TestDaemon,
  whyNoDocker,
} from '../packages/sandbox/src/docker/testing/docker-daemon.ts';
import { findRunsc } from '../packages/sandbox/src/docker/testing/runsc.ts';
import { LocalBackend } from '../packages/sandbox/src/local/local-backend.ts';
import { medianTime, timeOf } from './client/commands.ts';
import { alternate, median } from './statistics.ts';

const ROUNDS = 3;
const COMMANDS = 10;
const DOCUMENT = new URL('../docs/isolation.md', import.meta.url);

const COMMANDS_TIMED = {
  'a command that does nothing': 'true',
  '500 files written, read and deleted':
    'mkdir many; for i in $(seq 500); do echo $i > many/$i; done; cat many/* > all; rm -r many all',
  '256 MB hashed': 'head -c 256M /dev/zero | sha256sum',
} as const;
const FIRST = 'a first slot, from nothing';
const MEMORY = 'memory of a slot at rest';
const MB = 1024 * 1024;

interface Isolation {
  create(workspacesDir: string): ToolBackend;
  /** In bytes, of one that has a container. */
  memoryOf?: (slot: Slot) => Promise<number>;
}

type Figures = Record<string, number>;

async function measure({ create, memoryOf }: Isolation): Promise<Figures> {
  const workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-isolation-'));
  const backend = create(workspacesDir);
  try {
    const figures: Figures = {};
    let slot: Slot | undefined;
    figures[FIRST] = await timeOf(async () => {
      await backend.start();
      slot = await backend.acquire('measured');
    });
    const held = slot as Slot;
    for (const [name, command] of Object.entries(COMMANDS_TIMED)) {
      const times = command === 'true' ? COMMANDS : 1;
      figures[name] = await medianTime(times, async () => {
        const [result] = await backend.executeBatch([[held, 'bash', { command }]]);
        if (!result?.success) throw new Error(`${command}: ${result?.error}`);
      });
    }
    if (memoryOf) figures[MEMORY] = (await memoryOf(held)) / MB;
    return figures;
  } finally {
    await backend.stop({ purge: true });
    await rm(workspacesDir, { recursive: true, force: true });
  }
}

function isolations(daemon: TestDaemon | undefined, runtime: string | undefined): Record<string, Isolation> {
  const local = (isolation: 'none' | 'unshare' | 'bubblewrap'): Isolation => ({
    create: (workspacesDir) => new LocalBackend({ workspacesDir, isolation }),
  });
  const docker = (host: string, options: { runtime?: string } = {}): Isolation => ({
    create: (workspacesDir) =>
      new DockerBackend({ workspacesDir, image: TEST_IMAGE, dockerHost: host, warmSlots: 0, ...options }),
    memoryOf: async ({ containerId }) => {
      const { text } = await callDocker(host, 'GET', `/containers/${containerId}/stats?stream=false`);
      return (JSON.parse(text) as { memory_stats: { usage: number } }).memory_stats.usage;
    },
  });
  return {
    none: local('none'),
    unshare: local('unshare'),
    bubblewrap: local('bubblewrap'),
    ...(daemon ? { Docker: docker(daemon.host) } : {}),
    ...(daemon && runtime ? { 'Docker with gVisor': docker(daemon.host, { runtime }) } : {}),
  };
}

function shown(name: string, values: readonly number[]): string {
  const value = median(values);
  const [figure, unit] = name === MEMORY ? [value, 'MB'] : value < 1000 ? [value, 'ms'] : [value / 1000, 's'];
  return `${figure < 10 ? figure.toFixed(1) : Math.round(figure)} ${unit}`;
}

const noDocker = await whyNoDocker();
const runsc = await findRunsc();
if (noDocker !== undefined) console.log(`Docker is left out: ${noDocker}`);
if ('missing' in runsc) console.log(`gVisor is left out: ${runsc.missing}`);
const runtimes = 'path' in runsc ? { runsc: { ...runsc, runtimeArgs: ['--host-uds=all'] } } : {};
await using daemon = noDocker === undefined ? await openTestDaemon({ runtimes }) : undefined;

const sides = isolations(daemon, 'path' in runsc ? 'runsc' : undefined);
const measured = await alternate(
  ROUNDS,
  Object.fromEntries(Object.entries(sides).map(([name, side]) => [name, () => measure(side)])),
);
const rows = [FIRST, ...Object.keys(COMMANDS_TIMED), MEMORY].map((figure) => [
  figure,
  ...Object.values(measured).map((rounds) => {
    const values = rounds.map((round) => round[figure]).filter((value) => value !== undefined);
    return values.length === 0 ? '–' : shown(figure, values);
  }),
]);
const costs = table(['', ...Object.keys(measured)], rows);
await writeFile(DOCUMENT, replaceMarkedPart(await readFile(DOCUMENT, 'utf8'), 'costs', costs));
console.log(costs);
