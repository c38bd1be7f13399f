/** The role in deploy/kubernetes/sandboxes.yaml is enough, and nothing less is. */
import { describe, expect, test } from 'vitest';
import { describeRight, RIGHTS } from '../rights.ts';
import { readManifest } from '../testing/apply-manifest.ts';
import { type Cluster, NAMESPACE } from '../testing/cluster.ts';
import { createTest } from '../testing/kubernetes-fixture.ts';

const RBAC = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;
const POLICIES = `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies`;

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

export function describeRights(cluster: () => Cluster): void {
  describe('rights', () => {
    async function rulesOfManifest(): Promise<Rule[]> {
      const role = (await readManifest()).find(({ kind }) => kind === 'Role');
      return role?.rules ?? [];
    }

    /** A kubeconfig of a new service account with these rights. */
    async function accountWith(name: string, rules: Rule[]): Promise<string> {
      const metadata = { name };
      const kind = 'Role';
      const subject = { kind: 'ServiceAccount', name, namespace: NAMESPACE };
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name };
      const group = { apiVersion: 'rbac.authorization.k8s.io/v1' };
      const account = { apiVersion: 'v1', kind: subject.kind, metadata };
      await cluster().call('POST', `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, account);
      await cluster().call('POST', `${RBAC}/roles`, { ...group, kind, metadata, rules });
      const binding = { ...group, kind: 'RoleBinding', metadata, roleRef, subjects: [subject] };
      await cluster().call('POST', `${RBAC}/rolebindings`, binding);
      return await cluster().kubeconfig(await cluster().tokenOf(NAMESPACE, name));
    }

    test('the role has the rights that the driver uses, and no other', async () => {
      const given = (await rulesOfManifest()).flatMap(({ resources, verbs }) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
      );
      expect(given.sort()).toEqual(RIGHTS.map(describeRight).sort());
    });

    test('without any one of them the backend does not start, and names it', async () => {
      const rules = await rulesOfManifest();
      for (const [index, right] of RIGHTS.entries()) {
        const { verb, resource, subresource } = right;
        const whole = subresource ? `${resource}/${subresource}` : resource;
        const less = rules.map((rule) =>
          rule.resources.includes(whole)
            ? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) }
            : rule,
        );
        const kubeconfig = await accountWith(
          `less-${index}`,
          less.filter(({ verbs }) => verbs.length > 0),
        );
        await using weaker = await createTest(cluster(), { kubernetes: { kubeconfig } });
        await expect(weaker.backend.start()).rejects.toMatchObject({
          code: 'backend_down',
          message: expect.stringContaining(`${describeRight(right)}. Apply the role`),
        });
      }
    });

    test('a token that nobody knows is refused, and is in no message', async () => {
      const kubeconfig = await cluster().kubeconfig('s3cret-token');
      await using stranger = await createTest(cluster(), { kubernetes: { kubeconfig } });
      const error = await stranger.backend.start().then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error).toMatchObject({
        code: 'backend_down',
        message: expect.stringContaining('The credentials are not accepted'),
      });
      expect(error?.message).not.toContain('s3cret-token');
    });

    test('without the policy that denies a network the backend does not start, unless commands may have one', async () => {
      const [policy] = (await cluster().call<{ items: { metadata: { name: string } }[] }>('GET', POLICIES))
        .items;
      await cluster().call('DELETE', `${POLICIES}/${policy?.metadata.name}`);
      try {
        await using closed = await createTest(cluster());
        await expect(closed.backend.start()).rejects.toMatchObject({
          code: 'isolation_unavailable',
          message: expect.stringContaining('deploy/kubernetes/sandboxes.yaml'),
        });
        await using open = await createTest(cluster(), { allowNetwork: true });
        await open.backend.start();
      } finally {
        const restored = (await readManifest()).find(({ kind }) => kind === 'NetworkPolicy');
        await cluster().call('POST', POLICIES, restored);
      }
    });
  });
}
