/** What the rows about several servers compare: one on a SQLite file, and one, two and three on a Postgres. */
import { join } from 'node:path';
import type { Command } from '../processes/journal-server.ts';
import type { BenchProcess, Stage } from '../stage.ts';

export const SERVICES = {
  'SQLite, 1 server': { store: 'sqlite', servers: 1 },
  'Postgres, 1 server': { store: 'postgres', servers: 1 },
  'Postgres, 2 servers': { store: 'postgres', servers: 2 },
  'Postgres, 3 servers': { store: 'postgres', servers: 3 },
} as const;

export type ServiceName = keyof typeof SERVICES;
export const SERVICE_NAMES = Object.keys(SERVICES) as ServiceName[];

export const SHARED_MACHINE =
  'servers, Postgres and client share this machine: several servers show what it costs to be several, not what more ' +
  'machines would bring';

/** Servers without an agent (processes/journal-server.ts); each service has a database of its own in one Postgres. */
export class Services {
  readonly #servers: Record<ServiceName, BenchProcess[]>;
  /** A further database, for the floors. */
  readonly bareUrl: string;

  static async start(stage: Stage): Promise<Services> {
    const postgres = await stage.postgres();
    const services: Partial<Record<ServiceName, BenchProcess[]>> = {};
    for (const name of SERVICE_NAMES) {
      const { store, servers } = SERVICES[name];
      const address =
        store === 'sqlite' ? join(stage.directory(), 'talaria.db') : await postgres.createDatabase();
      services[name] = await Promise.all(
        Array.from({ length: servers }, () => stage.process('processes/journal-server.ts', [address])),
      );
    }
    return new Services(services as Record<ServiceName, BenchProcess[]>, await postgres.createDatabase());
  }

  private constructor(servers: Record<ServiceName, BenchProcess[]>, bareUrl: string) {
    this.#servers = servers;
    this.bareUrl = bareUrl;
  }

  servers(name: ServiceName): BenchProcess[] {
    return this.#servers[name];
  }
}

/** Resolves when it is done. */
export function tell<T = object>(server: BenchProcess, command: Command): Promise<T> {
  server.send(command);
  return server.next<T>();
}

/** One figure function per service, for `alternate`. */
export function eachService<Figure>(
  measure: (name: ServiceName) => Promise<Figure>,
): Record<ServiceName, () => Promise<Figure>> {
  return Object.fromEntries(SERVICE_NAMES.map((name) => [name, () => measure(name)])) as Record<
    ServiceName,
    () => Promise<Figure>
  >;
}
