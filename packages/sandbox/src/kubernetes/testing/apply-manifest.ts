/** Applies deploy/kubernetes/sandboxes.yaml to an empty cluster, as `kubectl apply` does. */
import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';

const MANIFEST = new URL('../../../../../deploy/kubernetes/sandboxes.yaml', import.meta.url);

const PATHS: Record<string, string> = {
  Namespace: '/api/v1/namespaces',
  ServiceAccount: '/api/v1/namespaces/{}/serviceaccounts',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings',
  NetworkPolicy: '/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies',
};

export interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
}

export async function readManifest(): Promise<Manifest[]> {
  const documents = parseAllDocuments(await readFile(MANIFEST, 'utf8'));
  return documents.map((document) => document.toJS() as Manifest);
}

export async function applyManifest(
  call: (method: string, path: string, body: object) => Promise<unknown>,
): Promise<void> {
  for (const object of await readManifest()) {
    const path = PATHS[object.kind];
    if (!path) throw new Error(`nobody knows where ${object.kind} belongs`);
    await call('POST', path.replace('{}', object.metadata.namespace ?? ''), object);
    if (object.kind === 'Namespace') await addDefaultAccount(call, object.metadata.name);
  }
}

/** A controller manager would do this for every namespace. */
async function addDefaultAccount(
  call: (method: string, path: string, body: object) => Promise<unknown>,
  namespace: string,
): Promise<void> {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  await call('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, account);
}
