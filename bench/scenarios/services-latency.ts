/**
 * Latency across servers: from the call that appends an event at one server to its arrival at a subscriber of another, by
 * the clock of the machine. The floor is a NOTIFY from one connection to another, which every wake-up needs.
 */
import { Beats } from '../client/beats.ts';
import { notifyLatency } from '../floors/bare-postgres.ts';
import type { Row } from '../rows.ts';
import type { BenchProcess, Stage } from '../stage.ts';
import { alternate, percentile } from '../statistics.ts';
import { eachService, SERVICE_NAMES, SERVICES, Services, tell } from './services.ts';

const ROUNDS = 5;
const RUNS = 4;
const EVENTS = 40;
const EVERY_MS = 10;

export async function servicesLatency(stage: Stage): Promise<Row[]> {
  const services = await Services.start(stage);
  using stack = new DisposableStack();
  const listeners = new Map<string, Beats[]>();
  for (const name of SERVICE_NAMES) {
    const servers = services.servers(name);
    const { runIds } = await tell<{ runIds: string[] }>(servers[0]!, { do: 'hold', runs: RUNS });
    const { port } = servers.at(-1)!;
    const beats = runIds.map((runId) => stack.use(new Beats(port, `/v1/runs/${runId}/events`)));
    await Promise.all(beats.map((beat) => beat.opened));
    listeners.set(name, beats);
  }
  const sides = {
    floor: async () => {
      const ms = await notifyLatency(services.bareUrl, EVENTS, EVERY_MS);
      return { p50: ms, p99: ms };
    },
    ...eachService((name) => measure(services.servers(name), listeners.get(name)!)),
  };
  await alternate(1, sides);
  const rounds = await alternate(ROUNDS, sides);
  const note =
    `${RUNS} runs with an event every ${EVERY_MS} ms, until it is received from the server that does not work on them; ` +
    'of a service of one, from that one. It contains the commit, and the 5 ms for which a stream gathers events';
  return SERVICE_NAMES.flatMap((name): Row[] => {
    const what = `event → subscriber, ${name}`;
    const isShared = SERVICES[name].servers > 1;
    const floor = { name: 'bare NOTIFY', rounds: rounds.floor.map(({ p50 }) => p50) };
    return [
      {
        what: `${what}, p50`,
        unit: 'ms',
        better: 'less',
        ours: rounds[name].map(({ p50 }) => p50),
        floor,
        ...(isShared ? { aim: { of: 'ours', atMost: 15 } as const } : {}),
        note,
      },
      { what: `${what}, p99`, unit: 'ms', better: 'less', ours: rounds[name].map(({ p99 }) => p99), note },
    ];
  });
}

async function measure(
  [working]: readonly BenchProcess[],
  beats: readonly Beats[],
): Promise<{ p50: number; p99: number }> {
  const received = Promise.all(beats.map((beat) => beat.next(EVENTS)));
  await tell(working!, { do: 'beat', events: EVENTS, everyMs: EVERY_MS });
  const times = (await received).flat();
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}
