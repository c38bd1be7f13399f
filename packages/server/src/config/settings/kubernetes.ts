/** The backend `kubernetes`. */

import { integer, number, string } from '../kinds/kinds.ts';
import { define, MAX_MB } from './setting.ts';

export const kubernetesSettings = {
  kubernetesImage: define({
    env: 'TALARIA_KUBERNETES_IMAGE',
    key: 'kubernetes_image',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'image of the pods: one that `talaria sandbox-image` made, in a registry that the nodes reach',
  }),
  kubernetesNamespace: define({
    env: 'TALARIA_KUBERNETES_NAMESPACE',
    key: 'kubernetes_namespace',
    kind: string({ maxChars: 63 }),
    default: undefined,
    defaultText: "that of the kubeconfig's context, or of this pod",
    group: 'Sandbox and approvals',
    about: 'namespace of the pods; deploy/kubernetes/sandboxes.yaml makes `talaria-sandboxes`',
  }),
  kubernetesKubeconfig: define({
    // The name that kubectl reads.
    env: 'KUBECONFIG',
    key: 'kubernetes_kubeconfig',
    kind: string({ maxChars: 4096 }),
    default: undefined,
    defaultText: 'the service account of this pod, or `~/.kube/config`',
    group: 'Sandbox and approvals',
    about: 'kubeconfig of the cluster, or several, separated by colons',
  }),
  kubernetesContext: define({
    env: 'TALARIA_KUBERNETES_CONTEXT',
    key: 'kubernetes_context',
    kind: string(),
    default: undefined,
    defaultText: 'the current one',
    group: 'Sandbox and approvals',
    about: 'context of the kubeconfig',
  }),
  kubernetesPullSecrets: define({
    env: 'TALARIA_KUBERNETES_PULL_SECRETS',
    key: 'kubernetes_pull_secrets',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'secrets of the namespace with the passwords of registries, separated by commas',
  }),
  kubernetesRuntimeClass: define({
    env: 'TALARIA_KUBERNETES_RUNTIME_CLASS',
    key: 'kubernetes_runtime_class',
    kind: string({ maxChars: 253 }),
    default: undefined,
    defaultText: 'that of the cluster',
    group: 'Sandbox and approvals',
    about: 'RuntimeClass of the pods, such as one for gVisor or Kata',
  }),
  kubernetesNodeSelector: define({
    env: 'TALARIA_KUBERNETES_NODE_SELECTOR',
    key: 'kubernetes_node_selector',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'labels of the nodes that may run pods, separated by commas: `pool=sandboxes`',
  }),
  kubernetesTolerations: define({
    env: 'TALARIA_KUBERNETES_TOLERATIONS',
    key: 'kubernetes_tolerations',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'taints of nodes that pods tolerate, separated by commas: `sandboxes=only:NoSchedule`',
  }),
  kubernetesCpus: define({
    env: 'TALARIA_KUBERNETES_CPUS',
    key: 'kubernetes_cpus',
    kind: number({ min: 0.001, max: 1024 }),
    default: 0.1,
    group: 'Sandbox and approvals',
    about: 'processors that a pod reserves on its node; `TALARIA_SANDBOX_CPUS` is the most',
  }),
  kubernetesMemoryMb: define({
    env: 'TALARIA_KUBERNETES_MEMORY_MB',
    key: 'kubernetes_memory_mb',
    kind: integer({ min: 10, max: MAX_MB }),
    default: 512,
    group: 'Sandbox and approvals',
    about: 'memory that a pod reserves on its node; `TALARIA_SANDBOX_MEMORY_MB` is the most',
  }),
  kubernetesDiskMb: define({
    env: 'TALARIA_KUBERNETES_DISK_MB',
    key: 'kubernetes_disk_mb',
    kind: integer({ min: 0, max: MAX_MB }),
    default: 1_024,
    group: 'Sandbox and approvals',
    about: "space that a pod reserves on its node's disk",
  }),
  kubernetesMaxDiskMb: define({
    env: 'TALARIA_KUBERNETES_MAX_DISK_MB',
    key: 'kubernetes_max_disk_mb',
    kind: integer({ min: 1, max: MAX_MB }),
    default: undefined,
    group: 'Sandbox and approvals',
    about:
      "space on its node's disk above which a pod is evicted; `TALARIA_SANDBOX_WORKSPACE_MB` ends only the command",
  }),
};
