/** Beyond the contract for limits: slots of one container, and the server in it, under a hog beside them. */
import { describe, expect, test } from 'vitest';
import type { TestDaemon } from '../testing/docker-daemon.ts';
import { newTrajectory, startTest } from '../testing/docker-fixture.ts';

const MEGABYTE = 1024 * 1024;

export function describeSharedLimits(daemon: () => TestDaemon): void {
  describe('shared limits', () => {
    test('a memory hog is ended, but neither the command of another slot nor the container', async () => {
      await using docker = await startTest(daemon(), {
        slotsPerContainer: 2,
        limits: { memoryBytes: 128 * MEGABYTE },
      });
      const hog = await docker.backend.acquire(newTrajectory());
      const other = await docker.backend.acquire(newTrajectory());
      expect(other.containerId).toBe(hog.containerId);
      const waiting = docker.bash(other, 'until [ -e go ]; do sleep 0.05; done; echo unharmed');
      const result = await docker.bash(hog, 'echo before; tail /dev/zero');
      expect(result).toMatchObject({ success: false, metadata: { failure: 'oom', signal: 'SIGKILL' } });
      expect(result.output).toContain('before\n');
      await docker.backend.executeBatch([[other, 'write_file', { path: 'go', content: '' }]]);
      expect(await waiting).toMatchObject({ success: true, output: 'unharmed\n' });
      expect(docker.troubles).toEqual([]);
    });

    test('a command that gets the server killed fails with `oom`, and its container is replaced', async () => {
      await using docker = await startTest(daemon(), { limits: { memoryBytes: 64 * MEGABYTE } });
      const trajectory = newTrajectory();
      const slot = await docker.backend.acquire(trajectory);
      await docker.bash(slot, 'echo kept > note');
      const result = await docker.bash(
        slot,
        'echo 0 > /proc/self/oom_score_adj; for i in 1 2 3 4 5; do head -c 100M /dev/zero > /dev/shm/$i; done; sleep 60',
      );
      expect(result).toMatchObject({ success: false, metadata: { failure: 'oom' } });
      await docker.backend.release(slot);
      const next = await docker.backend.acquire(trajectory);
      expect((await docker.bash(next, 'cat note')).output).toBe('kept\n');
    });
  });
}
