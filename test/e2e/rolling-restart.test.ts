/**
 * Servers, restarted one after the other as in an upgrade, with runs in the middle of their work and clients that
 * watch them through a load balancer. Nothing is lost or repeated, not even the files of the runs, and nothing waits
 * for the end of a lease: leases last an hour here.
 */
import { Talaria } from '@talaria/client';
import type { RunEvent } from '@talaria/protocol';
import { expect, test } from 'vitest';
import { sharedPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { terminal } from './server-with-model.ts';

const RUNS_PER_SERVER = 2;
const TEXT = 'All of them were there.';

const name = (count: string) => `a rolling restart of ${count} servers loses nothing and makes no run wait`;
test(name('two'), { timeout: 300_000 }, () => restart(['first', 'second']));
test(name('three'), { timeout: 300_000, tags: ['soak'] }, () => restart(['first', 'second', 'third']));

/** Each step waits for its gate, and the gates open while a server is stopping: there is a gate for each server. */
async function restart(gates: readonly string[]): Promise<void> {
  const runs = gates.length * RUNS_PER_SERVER;
  const steps = [
    ...gates.map((gate) => ({ gate, tools: [terminal(`echo ${gate} >> marks; cat marks`)] })),
    { text: TEXT, chunks: 4, delayMs: 30 },
  ];
  await using cleanup = new AsyncDisposableStack();
  const [postgres, model] = await Promise.all([sharedPostgres(), startModelServer()]);
  cleanup.defer(() => postgres.stop());
  cleanup.defer(() => model.close());
  const env = {
    TALARIA_DATABASE_URL: await postgres.createDatabase(),
    TALARIA_LEASE_SECONDS: '3600',
  };
  const servers = await Promise.all(
    gates.map(async () => cleanup.use(await ServerProcess.start({ modelUrl: model.url, env }))),
  );
  const balancer = cleanup.use(new Balancer(servers));
  const proxy = cleanup.use(await UnreliableProxy.start(() => balancer.next(), 1));
  const client = new Talaria({ baseUrl: proxy.url, maxRetries: 10 });

  const seen = Array.from({ length: runs }, (): RunEvent[] => []);
  const ended = Promise.all(
    seen.map((events) =>
      client.runs.run({ input: script(steps) }, { onEvent: (event) => void events.push(event) }),
    ),
  );
  for (const [step, server] of servers.entries()) {
    await everyRunIsAt(model, step, runs);
    const exited = server.kill('SIGTERM');
    await waitFor('the server to be out of rotation', async () => !(await isReady(server)));
    model.open(gates[step]!);
    expect((await exited).code).toBe(0);
    // Nothing is left to see when the last one is back.
    if (server !== servers.at(-1)) await server.start();
  }

  const api = new Api(servers[0]!.url);
  for (const [i, run] of (await ended).entries()) {
    expect(run).toMatchObject({ status: 'completed', output: TEXT });
    const events = seen[i]!;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(events).toEqual((await api.stream(run.run_id)).frames.map(({ event }) => event));
    const results = events.flatMap((event) => (event.event === 'tool.completed' ? [event.preview] : []));
    expect(results).toEqual(
      gates.map((_, last) =>
        gates
          .slice(0, last + 1)
          .map((gate) => `${gate}\n`)
          .join(''),
      ),
    );
  }
  // Each server had some of them when it stopped.
  const resumed = seen.flat().filter(({ event }) => event === 'run.resumed');
  expect(resumed.length).toBeGreaterThanOrEqual(gates.length);
  expect((await api.list()).data).toHaveLength(runs);
}

function everyRunIsAt(model: ModelServer, step: number, runs: number): Promise<boolean> {
  return waitFor(
    `every run to be at step ${step}`,
    () =>
      new Set(model.requests.filter((asked) => asked.step === step).map(({ scriptId }) => scriptId)).size ===
      runs,
  );
}

async function isReady({ url }: ServerProcess): Promise<boolean> {
  return fetch(`${url}/health/ready`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** Distributes connections to the servers that report they are ready, in turn. */
class Balancer implements Disposable {
  #ready: readonly ServerProcess[];
  #turn = 0;
  #closed = false;

  constructor(servers: readonly ServerProcess[]) {
    this.#ready = servers;
    void this.#keepLooking(servers);
  }

  next(): string {
    this.#turn += 1;
    return this.#ready[this.#turn % this.#ready.length]!.url;
  }

  async #keepLooking(servers: readonly ServerProcess[]): Promise<void> {
    while (!this.#closed) {
      const ready = await Promise.all(servers.map(isReady));
      this.#ready = servers.filter((_, i) => ready[i]);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  [Symbol.dispose](): void {
    this.#closed = true;
  }
}
