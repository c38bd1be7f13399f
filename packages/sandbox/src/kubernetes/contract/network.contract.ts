/** A trial finds out whether pods have a network; the policy alone proves nothing. */
import { describe, expect, test } from 'vitest';
import { connectKubernetes } from '../kubernetes-backend.ts';
import { networkIsDenied } from '../network-trial.ts';
import type { Cluster } from '../testing/cluster.ts';
import { podSettings } from '../testing/kubernetes-fixture.ts';

export function describeNetwork(cluster: () => Cluster): void {
  describe('the network', () => {
    async function tried(): Promise<boolean> {
      const api = await connectKubernetes({ kubeconfig: await cluster().serverKubeconfig() });
      return await networkIsDenied(api, podSettings(), new AbortController().signal);
    }

    test('pods that cannot reach each other have none', async () => {
      expect(await tried()).toBe(true);
      await cluster().until('no pod', async () => (await cluster().podNames()).length === 0);
    });

    test('pods that reach each other have one, whatever policy the cluster has', async () => {
      await cluster().setNetwork('open');
      try {
        expect(await tried()).toBe(false);
      } finally {
        await cluster().setNetwork('none');
      }
    });
  });
}
