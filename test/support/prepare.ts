/** Before the first test in a clone: makes what many tests would else make, each for itself. */
import { prepareCluster } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';

export async function setup(): Promise<void> {
  await prepareCluster();
}
