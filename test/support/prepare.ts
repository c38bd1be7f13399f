/** Before the first test in a clone: makes what many tests would otherwise each make for themselves. */

import { prepareCluster } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { prepareDashboard } from './prepare-dashboard.ts';

export async function setup(): Promise<void> {
  await Promise.all([prepareCluster(), prepareDashboard()]);
}
