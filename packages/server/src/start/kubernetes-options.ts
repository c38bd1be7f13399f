/** The settings of Kubernetes, as its backend takes them. */
import type { KubernetesBackendOptions } from '@talaria/sandbox/kubernetes';
import { listOf } from '../basics/list-of.ts';
import { requiredImage } from '../config/backend-rules.ts';
import type { Config } from '../config/index.ts';

export function kubernetesOptions(
  config: Config,
): Required<Pick<KubernetesBackendOptions, 'kubernetes' | 'pod'>> {
  const labels = listOf(config.kubernetesNodeSelector ?? '', ',').map((part) => part.split('='));
  return {
    kubernetes: {
      kubeconfig: config.kubernetesKubeconfig,
      context: config.kubernetesContext,
      namespace: config.kubernetesNamespace,
    },
    pod: {
      image: requiredImage(config, 'kubernetesImage'),
      pullSecrets: listOf(config.kubernetesPullSecrets ?? '', ','),
      runtimeClass: config.kubernetesRuntimeClass,
      nodeSelector: Object.fromEntries(labels),
      tolerations: listOf(config.kubernetesTolerations ?? '', ','),
      cpus: config.kubernetesCpus,
      memoryMb: config.kubernetesMemoryMb,
      diskMb: config.kubernetesDiskMb,
      maxDiskMb: config.kubernetesMaxDiskMb,
    },
  };
}
