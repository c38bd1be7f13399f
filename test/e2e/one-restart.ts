/**
 * Tests that share one restart, because a start is most of what such a test costs. Each test brings its runs to where the
 * restart should find them, waits for it, and looks at what became of them. Each has a key of its own, and so sees only its
 * own runs. The gates of the model are common to all.
 */
import { afterAll, beforeAll, describe, test } from 'vitest';
import { Api } from '../support/api.ts';
import type { ModelServer } from '../support/model-server.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { ServerWithModel } from './server-with-model.ts';

export interface RestartedWorld {
  readonly server: ServerProcess;
  readonly model: ModelServer;
  /** With the key of this test, for the server's present address. */
  readonly api: Api;
  /**
   * Resolves when every test of the group has asked for the restart or has failed, and the server is up again. Before that,
   * `whileDown` is called when the server has ended.
   */
  restart(whileDown?: () => Promise<void>): Promise<void>;
}

export interface RestartOptions {
  /** What ends the server; SIGKILL unless told. */
  signal?: NodeJS.Signals;
  env?: Record<string, string>;
}

type Body = (world: RestartedWorld) => Promise<void>;

interface Part {
  readonly key: string;
  readonly body: Body;
  outcome: Promise<void>;
}

export function describeRestart(
  name: string,
  { signal = 'SIGKILL', env = {} }: RestartOptions,
  define: (test: (name: string, body: Body) => void) => void,
): void {
  describe(name, () => {
    const parts: Part[] = [];
    let world: ServerWithModel<ServerProcess>;

    beforeAll(async () => {
      const keys = parts.map(({ key }, index) => `test-${index}:${key}`).join(',');
      world = await ServerWithModel.startProcess({ ...env, API_SERVER_KEYS: keys });
      const ended = Promise.withResolvers<void>();
      const restarted = Promise.withResolvers<void>();
      const whileDown: Promise<void>[] = [];
      const arrivals = parts.map((part) => {
        const arrived = Promise.withResolvers<void>();
        part.outcome = part.body({
          server: world.server,
          model: world.model,
          get api() {
            return new Api(world.server.url, part.key);
          },
          async restart(look) {
            const looked = ended.promise.then(look);
            whileDown.push(looked);
            arrived.resolve();
            await looked;
            await restarted.promise;
          },
        });
        // The test of this part reports it.
        part.outcome.then(arrived.resolve, arrived.resolve);
        return arrived.promise;
      });
      await Promise.all(arrivals);
      await world.server.kill(signal);
      ended.resolve();
      await Promise.allSettled(whileDown);
      await world.server.start();
      restarted.resolve();
    });
    afterAll(() => world[Symbol.asyncDispose]());

    define((name, body) => {
      const part = { key: `key-of-test-${parts.length}-0123456789`, body, outcome: Promise.resolve() };
      parts.push(part);
      test(name, () => part.outcome);
    });
  });
}
