/** A pod, its node or the API server that goes away under its slots: a typed answer, and the next acquire works. */
import { describe, expect, test } from 'vitest';
import { startAndKill } from '../../containers/testing/start-and-kill.ts';
import type { Pod } from '../kubernetes-types.ts';
import { type Cluster, NAMESPACE } from '../testing/cluster.ts';
import { createTest, type KubernetesTest, optionsFor, startTest } from '../testing/kubernetes-fixture.ts';
import { SANDBOX_IMAGE } from '../testing/test-images.ts';

const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const QUOTAS = `/api/v1/namespaces/${NAMESPACE}/resourcequotas`;
const GONE = { success: false, metadata: { failure: 'gone' } };

export function describeFailures(cluster: () => Cluster): void {
  describe('failures', () => {
    /** A slot with a saved file, and a command under way. */
    async function running(kubernetes: KubernetesTest) {
      const before = await kubernetes.backend.acquire('trajectory');
      await kubernetes.bash(before, 'echo saved > note');
      await kubernetes.backend.release(before);
      const slot = await kubernetes.backend.acquire('trajectory');
      const result = kubernetes.bash(slot, 'echo started > started; sleep 600', { timeout: 600 });
      await expect.poll(async () => (await kubernetes.bash(slot, 'cat started')).output).toBe('started\n');
      return { slot, result };
    }

    async function expectReplaced(
      kubernetes: KubernetesTest,
      { slot }: Awaited<ReturnType<typeof running>>,
    ): Promise<void> {
      await kubernetes.backend.release(slot);
      const next = await kubernetes.backend.acquire('trajectory');
      expect(next.containerId).not.toBe(slot.containerId);
      expect((await kubernetes.bash(next, 'cat note')).output).toBe('saved\n');
    }

    test('a pod that is deleted from outside answers its calls as gone, and is replaced', async () => {
      await using kubernetes = await startTest(cluster());
      const before = await running(kubernetes);
      await cluster().call('DELETE', `${PODS}/${before.slot.containerId}`);
      expect(await before.result).toMatchObject(GONE);
      await expectReplaced(kubernetes, before);
    });

    test('a pod over its disk is evicted, and its slot is gone', async () => {
      await using kubernetes = await startTest(cluster(), { pod: { image: SANDBOX_IMAGE, maxDiskMb: 20 } });
      const slot = await kubernetes.backend.acquire();
      const command = 'head -c 100M /dev/zero > large; sleep 300';
      expect(await kubernetes.bash(slot, command, { timeout: 300 })).toMatchObject({
        ...GONE,
        error: expect.stringContaining('Evicted: Pod ephemeral local storage usage exceeds the total limit'),
      });
    });

    test('a pod without room is refused at once, the error names what is used up, and no pod is left', async () => {
      const pod = { image: SANDBOX_IMAGE, memoryMb: 10_000_000 };
      await using kubernetes = await createTest(cluster(), { pod, limits: {} });
      await expect(kubernetes.backend.start()).rejects.toMatchObject({
        code: 'slot_unavailable',
        message: expect.stringMatching(/no room.*Insufficient memory/),
      });
      expect(await cluster().podNames()).toEqual([]);
    });

    test('a used-up quota counts as no room, and while others hold it a caller waits', async () => {
      await using kubernetes = await startTest(cluster(), { acquireTimeoutS: 3 });
      const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'one' } };
      const spec = { hard: { pods: '1' } };
      const made = await cluster().call<object>('POST', QUOTAS, { ...quota, spec });
      // A controller manager would count the pods; there is none here.
      await cluster().call('PUT', `${QUOTAS}/one/status`, {
        ...{ ...made, status: { ...spec, used: { pods: '1' } } },
      });
      try {
        await kubernetes.backend.acquire('first');
        await expect(kubernetes.backend.acquire('second')).rejects.toMatchObject({
          code: 'acquire_timeout',
          message: expect.stringContaining('exceeded quota: one'),
        });
      } finally {
        await cluster().call('DELETE', `${QUOTAS}/one`);
      }
    });

    test('an API server that is killed and started again: typed errors, then everything works', async () => {
      await using kubernetes = await startTest(cluster());
      const before = await running(kubernetes);
      await cluster().kill('kube-apiserver');
      try {
        expect(await before.result).toMatchObject(GONE);
        await expect(kubernetes.backend.acquire('other')).rejects.toMatchObject({
          message: expect.stringContaining('does not answer'),
        });
      } finally {
        await cluster().start('kube-apiserver');
      }
      await expectReplaced(kubernetes, before);
      expect(await cluster().podNames()).not.toContain(before.slot.containerId);
    });

    test('a node whose kubelet is killed: its slots are gone, and its pods are deleted without it', async () => {
      await using kubernetes = await startTest(cluster());
      const before = await running(kubernetes);
      await cluster().kill('kubelet');
      try {
        expect(await before.result).toMatchObject(GONE);
        await kubernetes.backend.release(before.slot);
        const lost = before.slot.containerId;
        await cluster().until('no lost pod', async () => !(await cluster().podNames()).includes(lost));
      } finally {
        await cluster().start('kubelet');
      }
      const next = await kubernetes.backend.acquire('trajectory');
      expect((await kubernetes.bash(next, 'cat note')).output).toBe('saved\n');
    });

    test('after kill -9 of a server the next start leaves no pod of its own, and all of others', async () => {
      await using neighbour = await startTest(cluster());
      const theirs = await neighbour.backend.acquire('theirs');
      const options = await optionsFor(cluster());
      const killed = ['killed-0', 'killed-1'];
      const module = new URL('../kubernetes-backend.ts', import.meta.url);
      await startAndKill({ module, backend: 'KubernetesBackend', options, trajectories: killed });
      const left = await cluster().podNames();
      expect(left.length).toBeGreaterThanOrEqual(killed.length + 1);
      // Nobody ends it: a pod that hears nothing of its owner ends by itself.
      const living = async () => {
        const { items } = await cluster().call<{ items: Pod[] }>('GET', PODS);
        return items
          .filter(({ status }) => status?.phase !== 'Failed' && status?.phase !== 'Succeeded')
          .map(({ metadata }) => metadata.name);
      };
      await expect.poll(living, { timeout: 90_000 }).toEqual([theirs.containerId]);
      await using restarted = await startTest(cluster(), options);
      expect(await neighbour.bash(theirs, 'echo well')).toMatchObject({ output: 'well\n' });
      const pods = await cluster().podNames();
      expect(pods.filter((name) => left.includes(name))).toEqual([theirs.containerId]);
      for (const [index, trajectory] of killed.entries()) {
        const slot = await restarted.backend.acquire(trajectory);
        expect((await restarted.bash(slot, 'cat index')).output).toBe(`${index}\n`);
      }
    });
  });
}
