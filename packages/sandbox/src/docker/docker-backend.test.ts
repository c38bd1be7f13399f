import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeBackendContract } from '../backend.contract.ts';
import { CONTRACT_LIMITS, describeLimitsContract } from '../contract/limits.contract.ts';
import { DISK } from '../testing/disk.ts';
import { describeCrash } from './contract/crash.contract.ts';
import { describeFailures } from './contract/failures.contract.ts';
import { describeIsolation } from './contract/isolation.contract.ts';
import { describeSharedLimits } from './contract/limits.contract.ts';
import { describePlain, importNoNamespaces, NO_NAMESPACES } from './contract/plain.contract.ts';
import { describeStarting } from './contract/starting.contract.ts';
import { DockerBackend } from './docker-backend.ts';
import { openTestDaemon, TEST_IMAGE, type TestDaemon, whyNoDocker } from './testing/docker-daemon.ts';

const reason = await whyNoDocker();
const title = reason === undefined ? 'docker' : `docker (missing: ${reason})`;

// Starting and ending containers is the work of other processes, which may have to wait for a processor.
describe.skipIf(reason !== undefined)(title, { tags: ['soak'] }, () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await openTestDaemon();
    await importNoNamespaces(daemon);
  });
  afterAll(() => daemon[Symbol.asyncDispose]());

  describeIsolation(() => daemon);
  describeSharedLimits(() => daemon);
  describeFailures(() => daemon);
  describeCrash(() => daemon);
  describeStarting(() => daemon);
  describePlain(() => daemon, { image: NO_NAMESPACES });

  describeLimitsContract('Docker', async () => {
    const workspacesDir = await mkdtemp(join(DISK, 'talaria-docker-test-'));
    return {
      create: () =>
        new DockerBackend({
          ...{ workspacesDir, image: TEST_IMAGE, dockerHost: daemon.host },
          ...{ slotsPerContainer: 2, limits: CONTRACT_LIMITS },
        }),
      dispose: () => rm(workspacesDir, { recursive: true, force: true }),
    };
  });

  describeBackendContract(
    'Docker',
    async () => {
      const workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-docker-test-'));
      return {
        create: () =>
          new DockerBackend({
            ...{ workspacesDir, image: TEST_IMAGE, dockerHost: daemon.host },
            ...{ slotsPerContainer: 30, maxContainers: 4, limits: { processes: 2_000 } },
          }),
        dispose: () => rm(workspacesDir, { recursive: true, force: true }),
      };
    },
    { timedOutCommands: 1_000 },
  );
});
