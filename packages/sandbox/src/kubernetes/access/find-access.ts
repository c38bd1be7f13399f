/** Which cluster to use: the kubeconfig that a setting names, the cluster this pod is in, or the user's own kubeconfig. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ClusterAccess } from './cluster-access.ts';
import { inClusterAccess } from './in-cluster.ts';
import { kubeconfigAccess } from './kubeconfig.ts';

export interface AccessOptions {
  /** One file, or several separated by colons, as KUBECONFIG has them. Nothing of the environment is read here. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
}

export async function findAccess({ kubeconfig, context }: AccessOptions): Promise<ClusterAccess> {
  const paths = kubeconfig?.split(':').filter((path) => path !== '') ?? [];
  if (paths.length > 0) return await kubeconfigAccess(paths, context);
  const inside = context === undefined ? await inClusterAccess(process.env) : undefined;
  return inside ?? (await kubeconfigAccess([join(homedir(), '.kube', 'config')], context));
}
