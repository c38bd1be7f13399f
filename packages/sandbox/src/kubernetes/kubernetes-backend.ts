/** Slots in pods of a Kubernetes cluster. docs/kubernetes.md tells what it needs. */
import { ContainerBackend } from '../containers/container-backend.ts';
import type { ContainerBackendOptions } from '../containers/container-options.ts';
import type { SandboxLimits } from '../limits.ts';
import { type AccessOptions, findAccess } from './access/find-access.ts';
import { KubernetesApi } from './kubernetes-api.ts';
import { KubernetesDriver } from './kubernetes-driver.ts';
import type { PodSettings } from './pod-spec.ts';

const GIGABYTE = 1024 ** 3;
const DEFAULT_LIMITS: SandboxLimits = { memoryBytes: 2 * GIGABYTE };
export const DEFAULT_SETTINGS = {
  ...{ pullSecrets: [], nodeSelector: {}, tolerations: [] },
  ...{ cpus: 0.1, memoryMb: 512, diskMb: 1024 },
} as const;

export interface KubernetesOptions extends AccessOptions {
  /** By default the namespace of the kubeconfig's context, or of this pod. */
  namespace?: string | undefined;
}

export interface KubernetesBackendOptions extends ContainerBackendOptions {
  kubernetes?: KubernetesOptions | undefined;
  /** `image`, and the settings that differ from the defaults. */
  pod: Partial<PodSettings> & Pick<PodSettings, 'image'>;
}

export class KubernetesBackend extends ContainerBackend {
  constructor({ kubernetes = {}, pod, ...options }: KubernetesBackendOptions) {
    const driver = new KubernetesDriver({
      settings: { ...DEFAULT_SETTINGS, ...pod },
      allowNetwork: options.allowNetwork ?? false,
      connect: () => connectKubernetes(kubernetes),
    });
    super(driver, { ...options, limits: options.limits ?? DEFAULT_LIMITS });
  }
}

export async function connectKubernetes({
  namespace,
  ...access
}: KubernetesOptions = {}): Promise<KubernetesApi> {
  return new KubernetesApi(await findAccess(access), namespace);
}
