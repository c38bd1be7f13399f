/**
 * Fan-out: one run, watched by 1, 100 and 1 000 subscribers; deliveries a second until the last of them has the
 * last event.
 *
 * All sides take events from the same source at the same pace and write them to responses of node:http that the same
 * client reads. The server commits each event to SQLite before it shows it; the floors store nothing. The coalesced
 * floor collects writes as the server does; the bare one writes each event to each subscriber.
 */
import { createRunId } from '@talaria/protocol';
import { Crowd } from '../client/crowd.ts';
import { EVENTS_PER_MS } from '../processes/event-source.ts';
import type { Row } from '../rows.ts';
import type { BenchProcess, Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

const ROUNDS = 9;
/**
 * Few enough that no subscriber falls behind by more than the server allows. Bare writes to a crowd are so slow that
 * they get fewer events; the row compares rates.
 */
const SIZES = [
  { subscribers: 1, events: 5_000, bareEvents: 5_000 },
  { subscribers: 100, events: 5_000, bareEvents: 500 },
  { subscribers: 1_000, events: 5_000, bareEvents: 30 },
];
const NOTE =
  `events fall due at ${EVENTS_PER_MS} per ms, which bounds the rows with few subscribers; the server commits ` +
  'each to SQLite first, the floors keep nothing';

export async function fanOut(stage: Stage): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of SIZES) {
    await using own = stage.nested();
    rows.push(...(await measureSize(own, size)));
  }
  return rows;
}

async function measureSize(
  stage: Stage,
  { subscribers, events, bareEvents }: (typeof SIZES)[number],
): Promise<Row[]> {
  const runId = createRunId();
  const floors = await stage.process('floors/fan-out.ts');
  const server = await stage.process('processes/fan-out-server.ts', [stage.directory(), runId]);
  using bareCrowd = await Crowd.connect(floors.port, '/bare', subscribers);
  using coalescedCrowd = await Crowd.connect(floors.port, '/coalesced', subscribers);
  using ourCrowd = await Crowd.connect(server.port, `/v1/runs/${runId}/events`, subscribers);

  const sides = {
    bare: () => deliver(floors, bareCrowd, subscribers, bareEvents, { kind: 'bare' }),
    coalesced: () => deliver(floors, coalescedCrowd, subscribers, events, { kind: 'coalesced' }),
    ours: () => deliver(server, ourCrowd, subscribers, events, {}),
  };
  await alternate(1, sides);
  const { bare, coalesced, ours } = await alternate(ROUNDS, sides);
  const what = `fan-out to ${subscribers.toLocaleString('en')}`;
  const row = { what, unit: 'deliveries/s', better: 'more', ours, note: NOTE } as const;
  return [
    { ...row, floor: { name: 'coalesced', rounds: coalesced }, aim: { of: 'ratio', atLeast: 0.8 } },
    { ...row, floor: { name: 'bare writes', rounds: bare } },
  ];
}

let rounds = 0;

async function deliver(
  source: BenchProcess,
  crowd: Crowd,
  subscribers: number,
  events: number,
  command: object,
): Promise<number> {
  rounds += 1;
  const marker = `end of round ${rounds}.`;
  const received = crowd.until(marker);
  const startedAt = performance.now();
  source.send({ ...command, events, marker });
  await received;
  return (events * subscribers) / ((performance.now() - startedAt) / 1000);
}
