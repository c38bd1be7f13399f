/**
 * The contract suites on containers that are processes, wherever their workspaces are. These processes isolate nothing, so
 * the suites need a machine on which the server inside can isolate its slots.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { describeBackendContract } from '../backend.contract.ts';
import { bestIsolation } from '../local/testing/why-unavailable.ts';
import type { ContractPart } from '../testing/contract-tools.ts';
import { ContainerBackend } from './container-backend.ts';
import { ProcessDriver, type ProcessDriverOptions } from './testing/process-driver.ts';

/**
 * The parts that depend on containers: on the way to the server inside, and on the place of workspaces. The local backend
 * shows the rest.
 */
const PARTS_OF_CONTAINERS: Record<ProcessDriverOptions['workspacesOn'], readonly ContractPart[]> = {
  container: [
    'results',
    'arguments',
    'environment',
    'ending',
    'output',
    'files',
    'batches',
    'stateful commands',
    'snapshots',
    'writing',
    'captures',
    'slots',
    'artifacts',
    'lifecycle',
  ],
  host: ['environment', 'output', 'files', 'paths', 'snapshots', 'writing', 'captures', 'slots', 'lifecycle'],
};

/**
 * `npm test` runs the parts in which results, files or whole workspaces pass through the container. The rest are soak tests:
 * container-backend.test.ts shows in short what happens to workspaces on the host, and what a stop does.
 */
const TEST_PARTS: Record<ProcessDriverOptions['workspacesOn'], readonly ContractPart[]> = {
  container: ['results', 'output', 'files', 'snapshots', 'writing', 'captures', 'slots', 'artifacts'],
  host: [],
};

export async function describeContainerContract(
  driverOptions: Omit<ProcessDriverOptions, 'dir'>,
): Promise<void> {
  const { workspacesOn, reachedBy = 'socket' } = driverOptions;
  const title = `containers, with workspaces on the ${workspacesOn}, reached by ${reachedBy}`;
  const missing = (await bestIsolation()) === 'none';
  const skipped = `${title} (missing: bubblewrap or unshare, to keep slots in a container apart)`;
  describe.skipIf(missing)(missing ? skipped : 'containers', () => {
    describeBackendContract(
      title,
      async () => {
        const base = await mkdtemp(join(tmpdir(), 'talaria-container-test-'));
        const driver = () => new ProcessDriver({ dir: join(base, 'driver'), ...driverOptions });
        const options = { workspacesDir: join(base, 'workspaces'), slotsPerContainer: 30, maxContainers: 4 };
        return {
          create: () => new ContainerBackend(driver(), options),
          dispose: () => rm(base, { recursive: true, force: true }),
        };
      },
      {
        timedOutCommands: 200,
        races: false,
        wrapsAnother: true,
        ownParts: PARTS_OF_CONTAINERS[workspacesOn],
        testParts: TEST_PARTS[workspacesOn],
      },
    );
  });
}
