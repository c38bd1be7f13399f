/** The contract of backends in tasks of Nomad's raw_exec driver, which several slots share. */
import { describe } from 'vitest';
import { describeBackendContract } from '../backend.contract.ts';
import { bestIsolation } from '../local/testing/why-unavailable.ts';
import { NomadAgent, whyNoNomad } from './testing/nomad-agent.ts';
import { nomadUnderTest } from './testing/nomad-under-test.ts';

const noIsolation =
  (await bestIsolation()) === 'none' ? 'bubblewrap or unshare, to keep slots in a task apart' : undefined;
const missing = whyNoNomad() ?? noIsolation;
const title = missing === undefined ? 'nomad' : `nomad with raw_exec (missing: ${missing})`;

describe.skipIf(missing !== undefined)(title, { tags: ['soak'] }, () => {
  describeBackendContract(
    'Nomad with raw_exec',
    async () =>
      nomadUnderTest(await NomadAgent.start(), {
        job: { driver: 'raw_exec' },
        ...{ slotsPerContainer: 30, maxContainers: 4 },
      }),
    { timedOutCommands: 100 },
  );
});
