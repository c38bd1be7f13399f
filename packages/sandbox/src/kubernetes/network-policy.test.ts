import { expect, test } from 'vitest';
import type { NetworkPolicy } from './kubernetes-types.ts';
import { requireNoNetwork } from './network-policy.ts';
import { readManifest } from './testing/apply-manifest.ts';

const DENY: NetworkPolicy = {
  metadata: { name: 'deny' },
  spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
};

const judge =
  (...policies: NetworkPolicy[]) =>
  () =>
    requireNoNetwork(policies, 'sandboxes');

test('the policy of deploy/ denies everything', async () => {
  const ours = (await readManifest()).find(
    ({ kind }) => kind === 'NetworkPolicy',
  ) as unknown as NetworkPolicy;
  expect(judge(ours)).not.toThrow();
});

test('without a policy, or with one for other pods or for one direction, commands would have a network', () => {
  expect(judge()).toThrow('no NetworkPolicy in the namespace sandboxes denies sandboxes ingress');
  const others = { ...DENY, spec: { ...DENY.spec, podSelector: { matchLabels: { app: 'web' } } } };
  expect(judge(others)).toThrow('no NetworkPolicy');
  const inwards = { ...DENY, spec: { podSelector: {} } };
  expect(judge(inwards)).toThrow('denies sandboxes egress');
});

test('a policy that allows something for sandboxes counts, whatever another denies', () => {
  const allow = {
    metadata: { name: 'dns' },
    spec: { podSelector: {}, policyTypes: ['Egress'], egress: [{ ports: [{ port: 53 }] }] },
  };
  expect(judge(DENY, allow)).toThrow(
    'the NetworkPolicy dns in the namespace sandboxes allows sandboxes egress',
  );
  const elsewhere = {
    ...allow,
    spec: {
      ...allow.spec,
      podSelector: { matchExpressions: [{ key: 'talaria.network', operator: 'NotIn', values: ['none'] }] },
    },
  };
  expect(judge(DENY, elsewhere)).not.toThrow();
});

test('a policy for the pods of one server denies nothing for certain, and may allow something', () => {
  const spec = {
    podSelector: { matchLabels: { 'talaria.server': 'somebody' } },
    policyTypes: ['Ingress', 'Egress'],
  };
  const one = { metadata: { name: 'one' }, spec };
  expect(judge(one)).toThrow('no NetworkPolicy');
  expect(judge(DENY, { ...one, spec: { ...spec, egress: [{}] } })).toThrow(
    'one in the namespace sandboxes allows',
  );
  const all = { matchExpressions: [{ key: 'talaria.server', operator: 'Exists' }] };
  expect(judge({ ...one, spec: { ...spec, podSelector: all } })).not.toThrow();
});
