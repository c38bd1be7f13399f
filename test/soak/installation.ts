/** The servers of a round with their store, model and receiver. Every process of it ends with this one. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  openTestDaemon,
  TEST_IMAGE,
  type TestDaemon,
} from '../../packages/sandbox/src/docker/testing/docker-daemon.ts';
import {
  startPostgres,
  type TestPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { startModelServer } from '../support/model-server.ts';
import { FROM_SOURCE, ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import type { StoreName } from './evidence.ts';
import type { Servers } from './persistent-client.ts';

const SERVERS = { sqlite: 1, postgres: 3, docker: 1 };
/** As long as a busy machine may take to renew one. */
const LEASE_SECONDS = 5;
/** Ends a server with this process, however that ends, and keeps a Ctrl-C on the terminal from it. */
const WRAPPER = ['setsid', 'setpriv', '--pdeathsig', 'KILL'];

const SETTINGS = {
  API_SERVER_KEY: 'key-of-the-soak',
  TALARIA_LEASE_SECONDS: String(LEASE_SECONDS),
  TALARIA_DRAIN_SECONDS: '2',
  TALARIA_RUN_RETENTION_SECONDS: '86400',
  TALARIA_CLIENT_TOOL_TIMEOUT_SECONDS: '86400',
  TALARIA_APPROVAL_TIMEOUT_SECONDS: '86400',
  TALARIA_WEBHOOK_ALLOW_PRIVATE: 'true',
  TALARIA_MAX_JOBS: '100000',
  TALARIA_SLOTS: 'true',
  TALARIA_UI: 'false',
};

/** What several rounds share: starting it takes longer than a round on it. */
export class Services implements AsyncDisposable {
  #postgres: TestPostgres | undefined;
  #docker: TestDaemon | undefined;

  async postgres(): Promise<TestPostgres> {
    this.#postgres ??= await startPostgres();
    return this.#postgres;
  }

  async docker(): Promise<TestDaemon> {
    this.#docker ??= await openTestDaemon();
    return this.#docker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#postgres?.stop();
    await this.#docker?.[Symbol.asyncDispose]();
  }
}

/** One server, whose deaths the killer announces. */
export class Victim {
  readonly process: ServerProcess;
  readonly #settings: Record<string, string>;
  /** Whether clients may try it; a paused server looks as if it were up. */
  up = false;
  /** Set while somebody kills it: any other end is a crash. */
  condemned = false;
  readonly crashes: string[] = [];

  constructor(process: ServerProcess, settings: Record<string, string>) {
    this.process = process;
    this.#settings = settings;
  }

  /** False if it died of a failpoint before it was ready. */
  async start(env: Record<string, string> = {}): Promise<boolean> {
    this.condemned = 'TALARIA_FAILPOINTS' in env;
    try {
      await this.process.start({ ...this.#settings, ...env });
    } catch (error) {
      if (this.condemned && String(error).includes('(SIGKILL)')) return false;
      throw error;
    }
    this.up = true;
    const { pid } = this.process;
    void this.process.exited().then(({ code, signal }) => {
      if (this.process.pid !== pid) return;
      this.up = false;
      if (!this.condemned) {
        this.crashes.push(`it ended by itself (${code ?? signal}): ${this.process.errors.slice(-2_000)}`);
      }
    });
    return true;
  }

  async kill(
    signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL',
  ): Promise<{ code: number | null; signal: string | null }> {
    this.condemned = true;
    const end = await this.process.kill(signal);
    this.up = false;
    return end;
  }
}

export class Installation implements AsyncDisposable, Servers {
  readonly store: StoreName;
  readonly apiKey = SETTINGS.API_SERVER_KEY;
  readonly victims: readonly Victim[];
  readonly receiver: WebhookReceiver;
  readonly postgres: TestPostgres | undefined;
  readonly docker: TestDaemon | undefined;
  readonly #resources: AsyncDisposableStack;

  static async open(store: StoreName, directory: string, services: Services): Promise<Installation> {
    await using resources = new AsyncDisposableStack();
    const model = resources.use(await startModelServer());
    const receiver = resources.use(await WebhookReceiver.start());
    const postgres = store === 'postgres' ? await services.postgres() : undefined;
    const docker = store === 'docker' ? await services.docker() : undefined;
    const settings = {
      ...SETTINGS,
      ...(postgres && { TALARIA_DATABASE_URL: await postgres.createDatabase() }),
      ...(docker && {
        TALARIA_BACKEND: 'docker',
        TALARIA_DOCKER_IMAGE: TEST_IMAGE,
        DOCKER_HOST: docker.host,
        TALARIA_WARM_SLOTS: '0',
      }),
    };
    const victims = Array.from({ length: SERVERS[store] }, (_, i) => {
      const dataDir = join(directory, `server-${i + 1}`);
      mkdirSync(dataDir, { recursive: true });
      const process = new ServerProcess({
        ...{ modelUrl: model.url, dataDir, wrapper: WRAPPER },
        // What runs inside the containers is packed from the source.
        ...(docker && { program: FROM_SOURCE }),
      });
      return resources.use(
        Object.assign(new Victim(process, settings), {
          [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
        }),
      );
    });
    await Promise.all(victims.map((victim) => victim.start()));
    return new Installation({ store, victims, receiver, postgres, docker, resources: resources.move() });
  }

  private constructor({
    resources,
    ...parts
  }: Pick<Installation, 'store' | 'victims' | 'receiver' | 'postgres' | 'docker'> & {
    resources: AsyncDisposableStack;
  }) {
    this.store = parts.store;
    this.victims = parts.victims;
    this.receiver = parts.receiver;
    this.postgres = parts.postgres;
    this.docker = parts.docker;
    this.#resources = resources;
  }

  get count(): number {
    return this.victims.length;
  }

  get dataDirs(): string[] {
    return this.victims.map(({ process }) => process.dataDir);
  }

  urls(): string[] {
    return this.victims.filter(({ up }) => up).map(({ process }) => process.url);
  }

  urlOf(index: number): string | undefined {
    const { up, process } = this.victims[index]!;
    return up ? process.url : undefined;
  }

  /** Everybody is up at the end, whatever was done to them. */
  async startAll(env: Record<string, string> = {}): Promise<void> {
    await Promise.all(this.victims.map((victim) => (victim.up ? undefined : victim.start(env))));
  }

  /** `kill -9` of Postgres, and its next start: it recovers from its log. */
  async killDatabase(awayMs: number): Promise<void> {
    const { pid } = this.postgres!;
    process.kill(pid, 'SIGKILL');
    await waitFor('Postgres to be dead', () => !isAlive(pid));
    await delay(awayMs);
    // Its other processes hold its memory until they have noticed.
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.postgres!.restart(async () => {});
      } catch (error) {
        if (tries === 20) throw error;
        await delay(250);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources[Symbol.asyncDispose]();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
