/** Finds the programs of a cluster on this machine: those of Kubernetes from test/backends/build-kubernetes, the rest installed. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../../host/system-path.ts';

const KUBERNETES_VERSION = '1.34.4';
const BUILT = ['kube-apiserver', 'kube-scheduler', 'kubelet', 'kube-controller-manager'] as const;
const INSTALLED = [
  'etcd',
  'containerd',
  'ctr',
  'runc',
  'unshare',
  'nsenter',
  'setpriv',
  'ip',
  'mount',
] as const;

export type ClusterProgram = (typeof BUILT)[number] | (typeof INSTALLED)[number];

export function programPath(name: ClusterProgram): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const dir = process.env.KUBERNETES_BIN || join(cache, 'talaria', `kubernetes-${KUBERNETES_VERSION}`);
  return (BUILT as readonly string[]).includes(name) ? join(dir, name) : name;
}

/** Why there is no cluster for tests on this machine; undefined if there can be one. */
export async function whyNoCluster(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'a kubelet needs root';
  for (const name of BUILT)
    if (!existsSync(programPath(name)))
      return `KUBERNETES_BIN has no ${name}, and test/backends/build-kubernetes has made none`;
  for (const name of INSTALLED) if (!(await findProgram(name))) return `${name} is not installed`;
  if (!/ cgroup2? /.test(readFileSync('/proc/self/mounts', 'utf8'))) return 'no control groups are mounted';
  return undefined;
}
