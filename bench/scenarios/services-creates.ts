/**
 * Durable creates through one, two and three servers on one Postgres, compared with one on SQLite: the whole server, as
 * people run it. The runs stay in the queue, as in the row of creates, which has the same floor as SQLite here. The floor on
 * Postgres is the bare insert of as many rows, a statement for as many as there are connections.
 */
import { postLoad } from '../client/post-load.ts';
import { insertRate } from '../floors/bare-postgres.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';
import { eachService, SERVICE_NAMES, SERVICES, type ServiceName, SHARED_MACHINE } from './services.ts';

const CONNECTIONS = 60;
const ROUNDS = 5;
const ROUND_MS = 1_000;
const INSERTED_ROWS = 12_000;

export async function servicesCreates(stage: Stage): Promise<Row[]> {
  const model = await stage.process('processes/model.ts');
  const floor = await stage.process('floors/accept.ts');
  const postgres = await stage.postgres();
  const env = { TALARIA_MAX_CONCURRENT_RUNS: '1', TALARIA_MAX_QUEUED_RUNS: '1000000' };
  const modelUrl = `http://127.0.0.1:${model.port}/v1`;
  const ports = {} as Record<ServiceName, number[]>;
  for (const name of SERVICE_NAMES) {
    const { store, servers } = SERVICES[name];
    const database = store === 'sqlite' ? {} : { TALARIA_DATABASE_URL: await postgres.createDatabase() };
    const started = await Promise.all(
      Array.from({ length: servers }, () => stage.server({ modelUrl, env: { ...env, ...database } })),
    );
    ports[name] = started.map(({ url }) => Number(new URL(url).port));
  }
  const body = JSON.stringify({
    input: 'bench:hang Look through the logs of last night and say what went wrong.',
  });
  const load = async (all: number[]): Promise<number> => {
    const connections = CONNECTIONS / all.length;
    const figures = await Promise.all(
      all.map((port) => postLoad({ port, path: '/v1/runs', body, connections, durationMs: ROUND_MS })),
    );
    return figures.reduce((sum, { perSecond }) => sum + perSecond, 0);
  };
  const bareUrl = await postgres.createDatabase();
  const sides = {
    accepted: () => load([floor.port]),
    inserted: () => insertRate(bareUrl, INSERTED_ROWS, CONNECTIONS),
    ...eachService((name) => load(ports[name])),
  };
  await alternate(1, sides);
  const rounds = await alternate(ROUNDS, sides);
  return SERVICE_NAMES.map((name) => ({
    what: `creates, ${name}`,
    unit: '/s',
    better: 'more',
    ours: rounds[name],
    floor:
      SERVICES[name].store === 'sqlite'
        ? { name: 'bare 202', rounds: rounds.accepted }
        : { name: 'bare insert', rounds: rounds.inserted },
    ...(name === 'Postgres, 1 server' ? { aim: { of: 'ratio', atLeast: 0.3 } as const } : {}),
    note: `${CONNECTIONS} keep-alive connections in all; the queue grows from round to round. ${SHARED_MACHINE}`,
  }));
}
