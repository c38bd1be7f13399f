/** Before the first test in a clone: makes what many tests would otherwise each make for themselves. */
import { prepareCluster } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';

export async function setup(): Promise<void> {
  await prepareCluster();
}
