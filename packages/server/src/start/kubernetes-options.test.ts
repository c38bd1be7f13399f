import { expect, test } from 'vitest';
import { load } from '../config/testing/load.ts';
import { kubernetesOptions } from './kubernetes-options.ts';

test('a cluster is found by the variable of kubectl, and pods are as the settings say', () => {
  const env = {
    ...{ TALARIA_BACKEND: 'kubernetes', TALARIA_KUBERNETES_IMAGE: 'sandbox:1', KUBECONFIG: '/one:/two' },
    ...{ TALARIA_KUBERNETES_CONTEXT: 'dev', TALARIA_KUBERNETES_NAMESPACE: 'agents' },
    ...{ TALARIA_KUBERNETES_PULL_SECRETS: 'one, two', TALARIA_KUBERNETES_RUNTIME_CLASS: 'gvisor' },
    ...{
      TALARIA_KUBERNETES_NODE_SELECTOR: 'pool=sandboxes,disk=ssd',
      TALARIA_KUBERNETES_TOLERATIONS: 'only:NoSchedule',
    },
  };
  expect(kubernetesOptions(load({ env }).config)).toMatchObject({
    kubernetes: { kubeconfig: '/one:/two', context: 'dev', namespace: 'agents' },
    pod: {
      image: 'sandbox:1',
      pullSecrets: ['one', 'two'],
      runtimeClass: 'gvisor',
      nodeSelector: { pool: 'sandboxes', disk: 'ssd' },
      tolerations: ['only:NoSchedule'],
      ...{ cpus: 0.1, memoryMb: 512, diskMb: 1024, maxDiskMb: undefined },
    },
  });
});
