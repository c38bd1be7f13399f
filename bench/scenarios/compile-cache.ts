/**
 * Node's compile cache, which the command keeps from one start to the next. Node writes it when a process ends by
 * itself, so a killed server leaves none: one server is started and stopped normally before starts are timed.
 */
import type { Stage } from '../stage.ts';

export async function fillCompileCache(stage: Stage): Promise<void> {
  await using own = stage.nested();
  const server = await own.server({});
  await server.kill('SIGTERM');
}
