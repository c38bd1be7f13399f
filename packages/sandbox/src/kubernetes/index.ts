export { KubernetesApi } from './kubernetes-api.ts';
export {
  connectKubernetes,
  DEFAULT_SETTINGS,
  KubernetesBackend,
  type KubernetesBackendOptions,
  type KubernetesOptions,
} from './kubernetes-backend.ts';
export { KubernetesRefusal } from './kubernetes-refusal.ts';
export { requireNoNetwork } from './network-policy.ts';
export { networkIsDenied } from './network-trial.ts';
export type { PodSettings } from './pod-spec.ts';
export { RIGHTS, requireRights } from './rights.ts';
