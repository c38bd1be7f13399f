/** Backends for the Kubernetes tests, each with directories of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionResult, Slot } from '../../backend.ts';
import { DEFAULT_SETTINGS, KubernetesBackend, type KubernetesBackendOptions } from '../kubernetes-backend.ts';
import type { PodSettings } from '../pod-spec.ts';
import type { Cluster } from './cluster.ts';
import { SANDBOX_IMAGE } from './test-images.ts';

export interface KubernetesTest extends AsyncDisposable {
  readonly backend: KubernetesBackend;
  readonly troubles: string[];
  bash(slot: Slot, command: string, more?: Record<string, unknown>): Promise<ExecutionResult>;
}

export function podSettings(): PodSettings {
  return { ...DEFAULT_SETTINGS, image: SANDBOX_IMAGE, memoryMb: 64 };
}

export async function optionsFor(
  cluster: Cluster,
  options: Partial<KubernetesBackendOptions> = {},
): Promise<KubernetesBackendOptions> {
  return {
    workspacesDir: await mkdtemp(join(tmpdir(), 'talaria-kubernetes-test-')),
    kubernetes: { kubeconfig: await cluster.serverKubeconfig() },
    warmSlots: 0,
    ...options,
    pod: { image: SANDBOX_IMAGE, memoryMb: 64, ...options.pod },
  };
}

export async function createTest(
  cluster: Cluster,
  given: Partial<KubernetesBackendOptions> = {},
): Promise<KubernetesTest> {
  const options = await optionsFor(cluster, given);
  const troubles: string[] = [];
  const backend = new KubernetesBackend({ onTrouble: (message) => troubles.push(message), ...options });
  return {
    ...{ backend, troubles },
    async bash(slot, command, more = {}) {
      const [result] = await backend.executeBatch([[slot, 'bash', { command, ...more }]]);
      return result as ExecutionResult;
    },
    async [Symbol.asyncDispose]() {
      await backend.stop({ purge: true });
      await rm(options.workspacesDir, { recursive: true, force: true });
    },
  };
}

export async function startTest(
  cluster: Cluster,
  options: Partial<KubernetesBackendOptions> = {},
): Promise<KubernetesTest> {
  const kubernetes = await createTest(cluster, options);
  try {
    await kubernetes.backend.start();
    return kubernetes;
  } catch (error) {
    await kubernetes[Symbol.asyncDispose]();
    throw error;
  }
}
