/** Before the first test in a clone: makes what many tests would otherwise each make for themselves. */

import { prepareCluster } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { bundledCommand } from './bundled-command.ts';
import { prepareDashboard } from './prepare-dashboard.ts';

export async function setup(): Promise<void> {
  await Promise.all([prepareCluster(), prepareDashboard(), runsAllTests() && bundledCommand()]);
}

/**
 * False if the command line names files. Then a test that needs the bundle makes it, because most do not. In a run of all tests
 * it is made before, because on a busy machine it takes longer than a test may wait.
 */
function runsAllTests(): boolean {
  return !process.argv.slice(2).some((word) => !word.startsWith('-') && word.includes('/'));
}
