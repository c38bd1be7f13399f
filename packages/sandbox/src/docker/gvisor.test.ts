import { afterAll, beforeAll, describe } from 'vitest';
import { describeGvisorStart, describeGvisorWalls, GVISOR } from './contract/gvisor.contract.ts';
import { describePlain } from './contract/plain.contract.ts';
import { openTestDaemon, type TestDaemon } from './testing/docker-daemon.ts';
import { findRunsc } from './testing/runsc.ts';

const runsc = await findRunsc();
const title = 'path' in runsc ? 'docker with gVisor' : `docker with gVisor (missing: ${runsc.missing})`;
const path = 'path' in runsc ? runsc.path : '';

const RUNTIMES = {
  [GVISOR.whole]: { path, runtimeArgs: ['--host-uds=all'] },
  [GVISOR.noSockets]: { path },
  [GVISOR.noGroups]: { path, runtimeArgs: ['--host-uds=all', '--ignore-cgroups'] },
};

// Starting and ending containers is the work of other processes, which may have to wait for a processor.
describe.skipIf(path === '')(title, { tags: ['soak'] }, () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await openTestDaemon({ runtimes: RUNTIMES });
  });
  afterAll(() => daemon[Symbol.asyncDispose]());

  describeGvisorStart(() => daemon);
  describeGvisorWalls(() => daemon);
  describePlain(() => daemon, { runtime: GVISOR.whole });
});
