/**
 * Kubernetes: an API server that answers, the rights that are needed, and a NetworkPolicy where commands may
 * have no network. Whether the cluster enforces that policy is tried with pods, in both directions.
 */
import {
  connectKubernetes,
  DEFAULT_SETTINGS,
  type KubernetesApi,
  networkIsDenied,
  requireNoNetwork,
  requireRights,
} from '@talaria/sandbox/kubernetes';
import type { Config } from '../../../config/index.ts';
import { kubernetesOptions } from '../../../start/kubernetes-options.ts';
import type { Finding } from '../finding.ts';

const FIX = 'Check KUBECONFIG and the role in deploy/kubernetes/sandboxes.yaml, or use TALARIA_BACKEND=local';

export async function checkKubernetes(
  config: Config,
  { interrupted }: { interrupted: AbortSignal },
): Promise<Finding> {
  const { allowNetwork } = config;
  const { kubernetes, pod } = kubernetesOptions(config);
  try {
    const api = await connectKubernetes(kubernetes);
    await requireRights(api, { network: allowNetwork });
    const detail = `${api.server}, namespace ${api.namespace}, as ${api.source} says`;
    if (allowNetwork) return { status: 'ok', detail };
    return await checkNetwork(api, pod, detail, interrupted);
  } catch (error) {
    return { status: 'failed', detail: (error as Error).message, fix: `${FIX} (docs/kubernetes.md)` };
  }
}

async function checkNetwork(
  api: KubernetesApi,
  pod: ReturnType<typeof kubernetesOptions>['pod'],
  detail: string,
  interrupted: AbortSignal,
): Promise<Finding> {
  requireNoNetwork(await api.networkPolicies(), api.namespace);
  if (await networkIsDenied(api, { ...DEFAULT_SETTINGS, ...pod }, interrupted))
    return {
      status: 'ok',
      detail,
      facts: ['pods tried the network in both directions, and the NetworkPolicy held'],
    };
  return {
    status: 'failed',
    detail: `${detail}: commands would have a network, because the cluster does not enforce its NetworkPolicy`,
    fix: 'Use a network plug-in that does, such as Calico or Cilium, or set TALARIA_ALLOW_NETWORK (docs/kubernetes.md)',
  };
}
