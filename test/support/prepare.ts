/** Before the first test in a clone: makes what many tests would else make, each for itself. */
import { existsSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import {
  prepareCluster,
  startPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from './api.ts';
import { startModelServer } from './model-server.ts';
import { ServerProcess } from './server-process.ts';

export async function setup({ config }: TestProject): Promise<void> {
  await prepareCluster();
  await compileServer(config.env as Record<string, string>);
}

/**
 * Starts the server once on each store, lets it work on a run and ends it in good order, so that the compile cache holds
 * its modules. Without them a start takes three times as long, and a first run half as much processor time again; and a
 * server that is killed, as nearly all are in tests, leaves none.
 */
async function compileServer({ NODE_COMPILE_CACHE: cache = '' }: Record<string, string>): Promise<void> {
  if (existsSync(cache)) return;
  const postgres = await startPostgres();
  const model = await startModelServer();
  try {
    for (const store of [{}, { TALARIA_DATABASE_URL: await postgres.createDatabase() }]) {
      await using server = await ServerProcess.start({
        modelUrl: model.url,
        env: { NODE_COMPILE_CACHE: cache, ...store },
      });
      const api = new Api(server.url);
      await api.stream(await api.create('hello'));
      await server.kill('SIGTERM');
    }
  } finally {
    await model.close();
    await postgres.stop();
  }
}
