/** Backends for the Nomad tests, each with directories of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionResult, Slot } from '../../backend.ts';
import { NomadBackend, type NomadBackendOptions } from '../nomad-backend.ts';
import type { NomadAgent } from './nomad-agent.ts';

export interface NomadTest extends AsyncDisposable {
  readonly workspacesDir: string;
  readonly backend: NomadBackend;
  readonly troubles: string[];
  bash(slot: Slot, command: string, more?: Record<string, unknown>): Promise<ExecutionResult>;
}

export async function createTest(
  agent: NomadAgent,
  options: Partial<NomadBackendOptions> = {},
): Promise<NomadTest> {
  const workspacesDir = options.workspacesDir ?? (await mkdtemp(join(tmpdir(), 'talaria-nomad-test-')));
  const troubles: string[] = [];
  const backend = new NomadBackend({
    ...{ workspacesDir, nomad: { address: agent.address }, job: { driver: 'raw_exec' }, warmSlots: 0 },
    onTrouble: (message) => troubles.push(message),
    ...options,
  });
  return {
    ...{ workspacesDir, backend, troubles },
    async bash(slot, command, more = {}) {
      const [result] = await backend.executeBatch([[slot, 'bash', { command, ...more }]]);
      return result as ExecutionResult;
    },
    async [Symbol.asyncDispose]() {
      await backend.stop({ purge: true });
      await rm(workspacesDir, { recursive: true, force: true });
    },
  };
}

export async function startTest(
  agent: NomadAgent,
  options: Partial<NomadBackendOptions> = {},
): Promise<NomadTest> {
  const nomad = await createTest(agent, options);
  try {
    await nomad.backend.start();
    return nomad;
  } catch (error) {
    await nomad[Symbol.asyncDispose]();
    throw error;
  }
}

export async function jobNames(agent: NomadAgent, token?: string): Promise<string[]> {
  const jobs = await agent.call<{ ID: string }[]>('GET', '/v1/jobs', undefined, token);
  return jobs.map(({ ID }) => ID);
}
