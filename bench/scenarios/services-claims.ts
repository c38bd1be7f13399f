/** Claims: how many runs per second several servers take from a queue that they empty together, each ten at a time. */
import type { Row } from '../rows.ts';
import type { BenchProcess, Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';
import { eachService, SERVICE_NAMES, Services, SHARED_MACHINE, tell } from './services.ts';

const ROUNDS = 5;
const RUNS = 300;
const AT_ONCE = 10;

export async function servicesClaims(stage: Stage): Promise<Row[]> {
  const services = await Services.start(stage);
  const sides = eachService((name) => emptyQueue(services.servers(name)));
  await alternate(1, sides);
  const rounds = await alternate(ROUNDS, sides);
  return SERVICE_NAMES.map((name) => ({
    what: `claims, ${name}`,
    unit: '/s',
    better: 'more',
    ours: rounds[name],
    note: `a queue of ${RUNS} runs, claimed ${AT_ONCE} at a time by each server. ${SHARED_MACHINE}`,
  }));
}

async function emptyQueue(servers: readonly BenchProcess[]): Promise<number> {
  await tell(servers[0]!, { do: 'create', runs: RUNS });
  const startedAt = performance.now();
  const answers = await Promise.all(
    servers.map((server) => tell<{ claims: number }>(server, { do: 'claim', atOnce: AT_ONCE })),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const claims = answers.reduce((sum, answer) => sum + answer.claims, 0);
  if (claims !== RUNS) throw new Error(`Of ${RUNS} runs ${claims} were claimed`);
  await Promise.all(servers.map((server) => tell(server, { do: 'finish' })));
  return claims / seconds;
}
