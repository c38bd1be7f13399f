import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeBackendContract } from '../backend.contract.ts';
import { describeGvisorStart, describeGvisorWalls, GVISOR } from './contract/gvisor.contract.ts';
import { describePlain } from './contract/plain.contract.ts';
import { DockerBackend } from './docker-backend.ts';
import { openTestDaemon, TEST_IMAGE, type TestDaemon } from './testing/docker-daemon.ts';
import { findRunsc } from './testing/runsc.ts';

const runsc = await findRunsc();
const title = 'path' in runsc ? 'docker with gVisor' : `docker with gVisor (missing: ${runsc.missing})`;
const path = 'path' in runsc ? runsc.path : '';

const RUNTIMES = {
  [GVISOR.whole]: { path, runtimeArgs: ['--host-uds=all'] },
  [GVISOR.noSockets]: { path },
  [GVISOR.noGroups]: { path, runtimeArgs: ['--host-uds=all', '--ignore-cgroups'] },
};

/** The parts in which another kernel may answer differently. Other backends show the rest, or the server outside does it. */
const PARTS_OF_KERNEL = [
  'results',
  'environment',
  'ending',
  'output',
  'stateful commands',
  'lifecycle',
] as const;
/**
 * These parts look for processes on the machine, where gVisor's do not show; or take 50 slots, which would be 50 containers; or
 * make special files, which a kernel of its own keeps for itself.
 */
const PARTS_OF_MACHINE = ['timeouts', 'neighbours', 'batches', 'artifacts'] as const;

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

  describeBackendContract(
    'Docker with gVisor',
    async () => {
      const workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-docker-test-'));
      return {
        create: () =>
          new DockerBackend({
            ...{ workspacesDir, image: TEST_IMAGE, dockerHost: daemon.host, runtime: GVISOR.whole },
            ...{ maxContainers: 16, warmSlots: 2, acquireTimeoutS: 120 },
          }),
        dispose: () => rm(workspacesDir, { recursive: true, force: true }),
      };
    },
    { ownKernel: true, ownParts: PARTS_OF_KERNEL, notParts: PARTS_OF_MACHINE },
  );
});
