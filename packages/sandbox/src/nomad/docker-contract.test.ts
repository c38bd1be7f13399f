/** The contract of backends in tasks of Nomad's docker driver, each with one slot. */
import { describe } from 'vitest';
import { describeBackendContract } from '../backend.contract.ts';
import { whyNoDocker } from '../docker/testing/docker-daemon.ts';
import { whyNoNomad } from './testing/nomad-agent.ts';
import { SANDBOX_IMAGE, startDockerAgent } from './testing/nomad-docker.ts';
import { nomadUnderTest } from './testing/nomad-under-test.ts';

/**
 * The parts that depend on a task of its own for each slot, and on the way to it. The program in the task does the rest, which
 * other backends show. Each test waits for a new task, so the whole contract takes half an hour.
 */
const PARTS_OF_TASKS = ['environment', 'neighbours', 'slots', 'artifacts', 'lifecycle'] as const;
/** As many tasks at a time as two processors start in half a minute. */
const SLOTS = 12;

const missing = whyNoNomad() ?? (await whyNoDocker());
const title = missing === undefined ? 'nomad' : `nomad with docker (missing: ${missing})`;

describe.skipIf(missing !== undefined)(title, { tags: ['soak'] }, () => {
  describeBackendContract(
    'Nomad with docker',
    async () => {
      const docker = await startDockerAgent();
      const options = {
        job: { driver: 'docker', image: SANDBOX_IMAGE, memoryMb: 256 },
        ...{ maxContainers: SLOTS + 3, warmSlots: 2, acquireTimeoutS: 300, limits: { processes: 2_000 } },
      } as const;
      return nomadUnderTest(docker.agent, options, docker);
    },
    { timedOutCommands: 100, slots: SLOTS, ownParts: PARTS_OF_TASKS },
  );
});
