/** Access for a server that runs in a pod itself: by the service account whose files the kubelet mounts and renews. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SandboxError } from '../../errors.ts';
import type { ClusterAccess } from './cluster-access.ts';

const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined if this process does not run in a pod. */
export async function inClusterAccess(
  env: Environment,
  dir = SERVICE_ACCOUNT_DIR,
): Promise<ClusterAccess | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  if (!host) return undefined;
  const read = (name: string) => readFile(join(dir, name), 'utf8').catch(explain);
  const namespace = (await read('namespace')).trim();
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace,
    source: 'the service account of this pod',
    credentials: async () => ({ token: (await read('token')).trim(), tls: { ca: await read('ca.crt') } }),
  };
}

function explain(error: NodeJS.ErrnoException): never {
  throw new SandboxError(
    'backend_down',
    `This pod has no service account that may talk to Kubernetes (${error.message}): set serviceAccountName and automountServiceAccountToken in its manifest, or name a kubeconfig in KUBECONFIG.`,
    { cause: error },
  );
}
