/**
 * Events from end to end: appended by the server that works on the run, made durable, and received by a subscriber of
 * the next server; with one server, by a subscriber of its own.
 *
 * The floor is the bare insert of the same rows through the same library, as many in a statement as the server has to write
 * at once: no reading, no waking, no HTTP.
 */
import { Crowd } from '../client/crowd.ts';
import { insertRate } from '../floors/bare-postgres.ts';
import type { Row } from '../rows.ts';
import type { BenchProcess, Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';
import { eachService, SERVICE_NAMES, SERVICES, Services, SHARED_MACHINE, tell } from './services.ts';

const ROUNDS = 7;
/** A warm-up: what a process does for the first time it does slowly. */
const WARM_UP_ROUNDS = 2;
/** For all servers together. */
const RUNS = 24;
const EVENTS_PER_RUN = 2_000;
const AT_ONCE = 20;
const EVENTS = RUNS * EVENTS_PER_RUN;

export async function servicesEvents(stage: Stage): Promise<Row[]> {
  const services = await Services.start(stage);
  using stack = new DisposableStack();
  const crowds = new Map<string, Crowd[]>();
  for (const name of SERVICE_NAMES) {
    crowds.set(name, await watchRuns(services.servers(name), (crowd) => stack.use(crowd)));
  }
  const sides = {
    floor: () => insertRate(services.bareUrl, EVENTS, RUNS * AT_ONCE),
    ...eachService((name) => deliver(services.servers(name), crowds.get(name)!)),
  };
  await alternate(WARM_UP_ROUNDS, sides);
  const rounds = await alternate(ROUNDS, sides);
  return SERVICE_NAMES.map((name) => ({
    what: `events, ${name}`,
    unit: '/s',
    better: 'more',
    ours: rounds[name],
    floor: { name: 'bare insert', rounds: rounds.floor },
    ...(SERVICES[name].store === 'postgres'
      ? { aim: { of: 'ratio', atLeast: SERVICES[name].servers === 3 ? 0.6 : 0.5 } as const }
      : {}),
    note:
      `${RUNS} runs that each append ${AT_ONCE} events when the last ${AT_ONCE} are durable; every event is received by a ` +
      `subscriber of another server. The floor inserts ${RUNS * AT_ONCE} rows in a statement. ${SHARED_MACHINE}`,
  }));
}

/** Every server holds its share of the runs, and each run has a subscriber at the server after it. */
async function watchRuns(servers: readonly BenchProcess[], keep: (crowd: Crowd) => Crowd): Promise<Crowd[]> {
  const crowds: Crowd[] = [];
  for (const [i, server] of servers.entries()) {
    const { runIds } = await tell<{ runIds: string[] }>(server, { do: 'hold', runs: RUNS / servers.length });
    const { port } = servers[(i + 1) % servers.length]!;
    for (const runId of runIds) crowds.push(keep(await Crowd.connect(port, `/v1/runs/${runId}/events`, 1)));
  }
  return crowds;
}

let rounds = 0;

async function deliver(servers: readonly BenchProcess[], crowds: readonly Crowd[]): Promise<number> {
  rounds += 1;
  const marker = `end of round ${rounds}.`;
  const received = Promise.all(crowds.map((crowd) => crowd.until(marker)));
  const startedAt = performance.now();
  const appended = servers.map((server) =>
    tell(server, { do: 'append', events: EVENTS_PER_RUN, atOnce: AT_ONCE, marker }),
  );
  await Promise.all([received, ...appended]);
  return EVENTS / ((performance.now() - startedAt) / 1000);
}
