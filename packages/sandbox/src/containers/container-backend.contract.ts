/** The contract suites on containers that are processes, wherever their workspaces are. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeBackendContract } from '../backend.contract.ts';
import { ContainerBackend } from './container-backend.ts';
import { ProcessDriver, type ProcessDriverOptions } from './testing/process-driver.ts';

export function describeContainerContract(
  workspacesOn: ProcessDriverOptions['workspacesOn'],
  artifacts: 'small' | 'none',
): void {
  describeBackendContract(
    `containers, with workspaces on the ${workspacesOn}`,
    async () => {
      const base = await mkdtemp(join(tmpdir(), 'talaria-container-test-'));
      const driver = () => new ProcessDriver({ dir: join(base, 'driver'), workspacesOn });
      const options = { workspacesDir: join(base, 'workspaces'), slotsPerContainer: 30, maxContainers: 4 };
      return {
        create: () => new ContainerBackend(driver(), options),
        dispose: () => rm(base, { recursive: true, force: true }),
      };
    },
    { timedOutCommands: 200, artifacts },
  );
}
