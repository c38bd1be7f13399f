/** Before the first test in a clone: makes what many tests would else make, each for itself. */
import { existsSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { prepareCluster } from '../../packages/server/src/journal/postgres/testing.ts';
import { ServerProcess } from './server-process.ts';

export async function setup({ config }: TestProject): Promise<void> {
  await Promise.all([prepareCluster(), compileServer(config.env as Record<string, string>)]);
}

/**
 * Starts the server once and ends it in good order, so that the compile cache holds its modules. Without them a start takes
 * three times as long, and a server that is killed, as nearly all are in tests, leaves none.
 */
async function compileServer({ NODE_COMPILE_CACHE: cache = '' }: Record<string, string>): Promise<void> {
  if (existsSync(cache)) return;
  await using server = await ServerProcess.start({ env: { NODE_COMPILE_CACHE: cache } });
  await server.kill('SIGTERM');
}
