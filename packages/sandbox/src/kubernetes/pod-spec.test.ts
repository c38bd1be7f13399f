import { expect, test } from 'vitest';
import { ContainerDirectory } from '../containers/container-directory.ts';
import type { ContainerRequest } from '../containers/container-driver.ts';
import { type PodSettings, podSpec } from './pod-spec.ts';

const SETTINGS: PodSettings = {
  image: 'sandbox:1',
  pullSecrets: ['registry'],
  runtimeClass: 'gvisor',
  nodeSelector: { pool: 'sandboxes' },
  tolerations: ['sandbox', 'dedicated=agents:NoSchedule'],
  cpus: 0.25,
  memoryMb: 512,
  diskMb: 1024,
};
const LEASE = '/var/lib/talaria/workspaces/.sandbox/kubernetes/instance-1/lease';
const REQUEST: ContainerRequest = {
  name: 'talaria-1',
  labels: { 'talaria.server': 'me', 'talaria.lease': LEASE },
  nested: false,
  slots: 1,
  allowNetwork: false,
  limits: { memoryBytes: 1024 ** 3, cpus: 2 },
  backend: { isolation: 'none' },
  directory: new ContainerDirectory('/nowhere'),
};

// The test reads the body without the types of Kubernetes.
// biome-ignore lint/suspicious/noExplicitAny: read by the test alone
const bodyOf = (...args: Parameters<typeof podSpec>) => podSpec(...args) as any;

test('a pod has what the level restricted of Pod Security asks for, and no account', () => {
  const { spec } = bodyOf(SETTINGS, REQUEST);
  expect(spec).toMatchObject({
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    hostNetwork: false,
    hostPID: false,
    hostIPC: false,
    securityContext: { runAsNonRoot: true, runAsUser: 65533, seccompProfile: { type: 'RuntimeDefault' } },
  });
  expect(spec.containers[0].securityContext).toEqual({
    privileged: false,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
});

test('a pod is found by the labels that fit, and keeps the others as annotations', () => {
  const { metadata } = bodyOf(SETTINGS, REQUEST);
  expect(metadata.labels).toEqual({
    'talaria.server': 'me',
    'app.kubernetes.io/name': 'talaria-sandbox',
    'talaria.network': 'none',
  });
  expect(metadata.annotations).toEqual({ 'talaria.lease': LEASE });
  expect(bodyOf(SETTINGS, { ...REQUEST, allowNetwork: true }).metadata.labels).toMatchObject({
    'talaria.network': 'allowed',
  });
});

test('a pod is placed as the settings say', () => {
  const { spec } = bodyOf(SETTINGS, REQUEST);
  expect(spec).toMatchObject({
    runtimeClassName: 'gvisor',
    imagePullSecrets: [{ name: 'registry' }],
    nodeSelector: { pool: 'sandboxes' },
    tolerations: [
      { key: 'sandbox', operator: 'Exists' },
      { key: 'dedicated', operator: 'Equal', value: 'agents', effect: 'NoSchedule' },
    ],
  });
});

test.each(['', '=value', ':NoSchedule'])(
  '"%s" is refused, and does not tolerate every taint',
  (toleration) => {
    expect(() => bodyOf({ ...SETTINGS, tolerations: [toleration] }, REQUEST)).toThrow('A toleration should');
  },
);

test('a pod reserves what the settings say and is held to its limits, with room for the server inside', () => {
  const { resources } = bodyOf(SETTINGS, REQUEST).spec.containers[0];
  expect(resources).toEqual({
    requests: { cpu: '250m', memory: String(512 * 1024 ** 2), 'ephemeral-storage': '1024Mi' },
    limits: { cpu: '2000m', memory: String((1024 + 128) * 1024 ** 2) },
  });
  const small = { ...REQUEST, limits: { memoryBytes: 64 * 1024 ** 2, cpus: 0.1 } };
  expect(bodyOf({ ...SETTINGS, maxDiskMb: 500 }, small).spec.containers[0].resources).toEqual({
    requests: { cpu: '100m', memory: String(192 * 1024 ** 2), 'ephemeral-storage': '500Mi' },
    limits: { cpu: '100m', memory: String(192 * 1024 ** 2), 'ephemeral-storage': '500Mi' },
  });
});

test('a pod belongs to the pod of its server, if the server runs in one', () => {
  const owner = { metadata: { name: 'talaria-work-0', uid: 'a-uid' } };
  expect(bodyOf(SETTINGS, REQUEST, owner).metadata.ownerReferences).toEqual([
    { apiVersion: 'v1', kind: 'Pod', name: 'talaria-work-0', uid: 'a-uid' },
  ]);
  expect(bodyOf(SETTINGS, REQUEST).metadata).not.toHaveProperty('ownerReferences');
});
