/** A server in a pod finds its cluster by itself, and Kubernetes deletes its pods with it. */
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readManifest } from '../testing/apply-manifest.ts';
import { type Cluster, NAMESPACE, PORT } from '../testing/cluster.ts';
import { SANDBOX_IMAGE } from '../testing/test-images.ts';

/** A namespace that does not enforce a level: the server's pod reads its program from the node. */
const HOME = 'home';
const SERVER = 'talaria-work-0';
const PODS = `/api/v1/namespaces/${HOME}/pods`;
const PACKAGE = fileURLToPath(new URL('../../..', import.meta.url));
const PROGRAM = fileURLToPath(new URL('../testing/server-in-pod.ts', import.meta.url));
const RBAC = `/apis/rbac.authorization.k8s.io/v1/namespaces/${HOME}`;

interface Owned {
  metadata: { name: string; uid: string; ownerReferences?: { kind: string; name: string; uid: string }[] };
}

export function describeOwnership(cluster: () => Cluster): void {
  describe('a server in a pod', () => {
    /** The rights that deploy/kubernetes/sandboxes.yaml gives, in the server's own namespace. */
    async function settle(): Promise<void> {
      const call = (path: string, body: object) => cluster().call('POST', path, body);
      await call('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: HOME } });
      for (const name of ['default', 'talaria']) {
        const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
        await call(`/api/v1/namespaces/${HOME}/serviceaccounts`, account);
      }
      const here = (await readManifest())
        .filter(({ metadata }) => metadata.namespace === NAMESPACE)
        .map((object) => ({ ...object, metadata: { ...object.metadata, namespace: HOME } }));
      for (const object of here) {
        const subjects = [{ kind: 'ServiceAccount', name: 'talaria', namespace: HOME }];
        if (object.kind === 'Role') await call(`${RBAC}/roles`, object);
        if (object.kind === 'RoleBinding') await call(`${RBAC}/rolebindings`, { ...object, subjects });
        if (object.kind === 'NetworkPolicy')
          await call(`/apis/networking.k8s.io/v1/namespaces/${HOME}/networkpolicies`, object);
      }
    }

    function serverPod(): object {
      // In this cluster the address of the API's service does not lead to the API server.
      const service = { KUBERNETES_SERVICE_HOST: cluster().address, KUBERNETES_SERVICE_PORT: String(PORT) };
      return {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: SERVER } },
        spec: {
          ...{ restartPolicy: 'Never', serviceAccountName: 'talaria', automountServiceAccountToken: true },
          containers: [
            {
              ...{ name: 'talaria', image: SANDBOX_IMAGE },
              command: ['/talaria/node', PROGRAM, SANDBOX_IMAGE],
              env: Object.entries(service).map(([name, value]) => ({ name, value })),
              volumeMounts: [{ name: 'package', mountPath: PACKAGE, readOnly: true }],
            },
          ],
          volumes: [{ name: 'package', hostPath: { path: PACKAGE } }],
        },
      };
    }

    async function pods(): Promise<Owned[]> {
      return (await cluster().call<{ items: Owned[] }>('GET', PODS)).items;
    }

    test('finds the cluster by its service account, and Kubernetes deletes its pods with it', async () => {
      await cluster().start('kube-controller-manager');
      await cluster().setNetwork('open');
      try {
        await settle();
        const authority = `/api/v1/namespaces/${HOME}/configmaps/kube-root-ca.crt`;
        await cluster().until('the certificate for pods', async () =>
          Boolean(await cluster().call('GET', authority)),
        );
        await cluster().call('POST', PODS, serverPod());
        let said = '';
        await cluster().until('a command in a pod of that server', async () => {
          said = await cluster().call<string>('GET', `${PODS}/${SERVER}/log`);
          return said.endsWith('}\n');
        });
        const { output, pod } = JSON.parse(said) as { output: string; pod: string };
        expect(output).toBe('hello\n');
        const all = await pods();
        const server = all.find(({ metadata }) => metadata.name === SERVER);
        expect(all.find(({ metadata }) => metadata.name === pod)?.metadata.ownerReferences).toEqual([
          { apiVersion: 'v1', kind: 'Pod', name: SERVER, uid: server?.metadata.uid },
        ]);
        // As if its node were lost: nothing tells the server to end its pods.
        await cluster().call('DELETE', `${PODS}/${SERVER}?gracePeriodSeconds=0`);
        await cluster().until('no pod of that server', async () => (await pods()).length === 0);
      } finally {
        await cluster().setNetwork('none');
        await cluster().kill('kube-controller-manager');
      }
    });
  });
}
