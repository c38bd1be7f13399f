/**
 * Backends for the contract of backends: on one directory of workspaces, in tasks of an agent.
 * `opened` ends with them.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackendUnderTest } from '../../backend.contract.ts';
import { NomadBackend, type NomadBackendOptions } from '../nomad-backend.ts';
import type { NomadAgent } from './nomad-agent.ts';

export async function nomadUnderTest(
  agent: NomadAgent,
  options: Omit<NomadBackendOptions, 'workspacesDir'>,
  opened: AsyncDisposable = agent,
): Promise<BackendUnderTest> {
  const workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-nomad-test-'));
  return {
    create: () => new NomadBackend({ workspacesDir, nomad: { address: agent.address }, ...options }),
    async dispose() {
      await opened[Symbol.asyncDispose]();
      await rm(workspacesDir, { recursive: true, force: true });
    },
  };
}
