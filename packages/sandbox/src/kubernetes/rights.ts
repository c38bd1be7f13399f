/** The rights that the driver uses, all of them in one namespace: what the role in deploy/kubernetes/sandboxes.yaml gives. */
import { SandboxError } from '../errors.ts';
import type { KubernetesApi, Right } from './kubernetes-api.ts';

const POLICIES: Right = { verb: 'list', group: 'networking.k8s.io', resource: 'networkpolicies' };

export const RIGHTS: readonly Right[] = [
  ...['create', 'delete', 'list', 'watch'].map((verb) => ({ verb, group: '', resource: 'pods' })),
  // An exec over a WebSocket is a GET; from Kubernetes 1.35 on it needs the other one, too.
  ...['create', 'get'].map((verb) => ({ verb, group: '', resource: 'pods', subresource: 'exec' })),
  POLICIES,
];

/** Throws an error that names all missing rights, so that nobody has to find them one by one. */
export async function requireRights(api: KubernetesApi, { network }: { network: boolean }): Promise<void> {
  const needed = network ? RIGHTS.filter((right) => right !== POLICIES) : RIGHTS;
  const held = await Promise.all(needed.map((right) => api.may(right)));
  const missing = needed.filter((_, index) => !held[index]).map(describeRight);
  if (missing.length === 0) return;
  throw new SandboxError(
    'backend_down',
    `Rights are missing in the namespace ${api.namespace} for ${api.source}: ${missing.join(', ')}. Apply the role in deploy/kubernetes/sandboxes.yaml.`,
  );
}

/** `create pods/exec` */
export function describeRight({ verb, resource, subresource }: Right): string {
  return `${verb} ${resource}${subresource ? `/${subresource}` : ''}`;
}
