/** A slot has a pod of its own: what commands get there, and what they do not get. */
import { describe, expect, test } from 'vitest';
import type { Cluster } from '../testing/cluster.ts';
import { createTest, startTest } from '../testing/kubernetes-fixture.ts';
import { PLAIN_IMAGE } from '../testing/test-images.ts';

const MEGABYTE = 1024 * 1024;

export function describePods(cluster: () => Cluster): void {
  describe('pods', () => {
    test('a slot has a pod of its own, without network or rights, and its files come back with it', async () => {
      await using kubernetes = await startTest(cluster());
      expect(kubernetes.backend.stats().isolation).toMatchObject({
        kind: 'container',
        description: expect.stringContaining('Kubernetes: every slot has a container of its own'),
      });
      const slot = await kubernetes.backend.acquire('trajectory');
      const said = await kubernetes.bash(
        slot,
        [
          'id -u; cat /sys/class/net/*/address | sort -u; env | grep -c KUBERNETES_',
          'ls /var/run/secrets 2>/dev/null; grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status; echo kept > note',
        ].join('; '),
      );
      expect(said.output.replaceAll('\t', ' ')).toBe(
        '65533\n00:00:00:00:00:00\n0\nCapEff: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n',
      );
      expect(await kubernetes.bash(slot, 'touch /outside')).toMatchObject({ success: false });
      await kubernetes.backend.release(slot);
      const again = await kubernetes.backend.acquire('trajectory');
      expect(again.containerId).not.toBe(slot.containerId);
      expect((await kubernetes.bash(again, 'cat note')).output).toBe('kept\n');
      await kubernetes.backend.stop();
      expect(await cluster().podNames()).toEqual([]);
      expect(kubernetes.troubles).toEqual([]);
    });

    test('a command over the memory limit fails with `oom`', async () => {
      await using kubernetes = await startTest(cluster(), { limits: { memoryBytes: 64 * MEGABYTE } });
      const slot = await kubernetes.backend.acquire();
      expect(await kubernetes.bash(slot, 'tail /dev/zero')).toMatchObject({
        success: false,
        metadata: { failure: 'oom' },
      });
    });

    test('a limit on processes is refused, and the error names what could enforce it', async () => {
      await using kubernetes = await createTest(cluster(), { limits: { processes: 100 } });
      await expect(kubernetes.backend.start()).rejects.toMatchObject({
        code: 'limit_unenforceable',
        message: expect.stringContaining('podPidsLimit'),
      });
    });

    test.each([
      ['an image without the program', PLAIN_IMAGE, /sandbox-server: (not found|No such file)/],
      ['an image that cannot be pulled', '127.0.0.1:9/missing:1', /ErrImagePull.*TALARIA_KUBERNETES_IMAGE/s],
      ['an invalid name of an image', 'NoImage:', /InvalidImageName|ErrImagePull/],
    ])('%s fails at once with the reason, and leaves no pod', async (_, image, reason) => {
      await using kubernetes = await createTest(cluster(), { pod: { image } });
      await expect(kubernetes.backend.start()).rejects.toMatchObject({
        code: 'container_failed',
        message: expect.stringMatching(reason),
      });
      expect(await cluster().podNames()).toEqual([]);
    });

    test('a RuntimeClass that is missing is named', async () => {
      const pod = { image: 'any:1', runtimeClass: 'gvisor' };
      await using kubernetes = await createTest(cluster(), { pod });
      await expect(kubernetes.backend.start()).rejects.toMatchObject({
        code: 'container_failed',
        message: expect.stringContaining('RuntimeClass "gvisor" not found'),
      });
    });
  });
}
