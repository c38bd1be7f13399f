/**
 * A container or a daemon that dies while its slots are in use: an answer in bounded time, nothing lost, and the next
 * acquire works.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Slot } from '../../backend.ts';
import { callDocker, type TestDaemon } from '../testing/docker-daemon.ts';
import { type DockerTest, listContainers, newTrajectory, startTest } from '../testing/docker-fixture.ts';

export function describeFailures(daemon: () => TestDaemon): void {
  describe('failures', () => {
    let docker: DockerTest;
    let slot: Slot;
    let trajectory: string;

    beforeAll(async () => {
      docker = await startTest(daemon(), { slotsPerContainer: 2, healthIntervalS: 1, healthTimeoutS: 2 });
    });
    afterAll(() => docker[Symbol.asyncDispose]());

    beforeEach(async () => {
      trajectory = newTrajectory();
      slot = await docker.backend.acquire(trajectory);
      await docker.bash(slot, 'echo kept > note; echo kept > /tmp/note');
    });
    afterEach(() => docker.backend.release(slot, { resetWorkspace: true }));

    const container = (action: string) =>
      callDocker(daemon().host, 'POST', `/containers/${slot.containerId}/${action}`);

    /** The trajectory finds its files in another container, also while others still work. */
    async function expectReplaced(): Promise<void> {
      const lost = slot.containerId;
      expect(await docker.bash(slot, 'true')).toMatchObject({
        success: false,
        metadata: { failure: 'gone' },
      });
      await expect(docker.backend.readArtifact(slot, 'note')).rejects.toMatchObject({ code: 'slot_gone' });
      await docker.backend.release(slot);
      slot = await docker.backend.acquire(trajectory);
      expect(slot.containerId).not.toBe(lost);
      expect((await docker.bash(slot, 'cat note /tmp/note')).output).toBe('kept\nkept\n');
      expect((await listContainers(daemon())).map(({ Id }) => Id)).not.toContain(lost);
    }

    test.each([
      ['killed', () => container('kill')],
      ['removed', () => callDocker(daemon().host, 'DELETE', `/containers/${slot.containerId}?force=1`)],
      ['stopped', () => container('stop?t=0')],
      ['paused', () => container('pause')],
    ])('a container that is %s answers its calls as gone, and is replaced', async (_, end) => {
      const running = docker.bash(slot, 'echo started > started; sleep 600', { timeout: 600 });
      await expect.poll(async () => (await docker.bash(slot, 'cat started')).output).toBe('started\n');
      const { status } = await end();
      expect(status).toBeLessThan(300);
      const result = await running;
      expect(result).toMatchObject({ success: false, output: '', metadata: { failure: 'gone' } });
      expect(result.error).toContain('acquire again');
      await expectReplaced();
    });

    test('calls in a released slot are aborted, even if its container is frozen and dies of it', async () => {
      const running = docker.bash(slot, 'echo started > started; sleep 600', { timeout: 600 });
      await expect.poll(async () => (await docker.bash(slot, 'cat started')).output).toBe('started\n');
      await container('pause');
      await docker.backend.release(slot);
      expect(await running).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
      slot = await docker.backend.acquire(trajectory);
      expect((await docker.bash(slot, 'cat started')).output).toBe('started\n');
    });

    test('the workspace can be read while its container is dead', async () => {
      await container('kill');
      await expect.poll(() => slot.state).toBe('error');
      const reader = await docker.backend.workspaces.open(trajectory);
      expect((await reader?.list('.'))?.entries.map(({ path }) => path)).toEqual(['note']);
    });

    test('a slot that died can be released with a reset', async () => {
      await container('kill');
      await expect.poll(() => slot.state).toBe('error');
      await docker.backend.release(slot, { resetWorkspace: true });
      slot = await docker.backend.acquire(trajectory);
      expect((await docker.bash(slot, 'ls -A . /tmp')).output).toBe('.:\n\n/tmp:\n');
    });

    test('a daemon that is stopped and started again: typed errors, then everything works', async ({
      skip,
    }) => {
      const { own } = daemon();
      if (!own) return skip('the daemon is not this test’s own');
      const running = docker.bash(slot, 'sleep 600', { timeout: 600 });
      await own.stop();
      try {
        expect(await running).toMatchObject({ success: false, metadata: { failure: 'gone' } });
        const failed = await docker.backend.acquire(newTrajectory()).catch((error) => error);
        expect(failed).toMatchObject({
          name: 'SandboxError',
          message: expect.stringContaining('DOCKER_HOST'),
        });
        const reader = await docker.backend.workspaces.open(trajectory);
        expect((await reader?.list('.'))?.entries.map(({ path }) => path)).toEqual(['note']);
      } finally {
        await own.start();
      }
      await expectReplaced();
    });

    test('the next start finds everything that a stop left while the daemon was down', async ({ skip }) => {
      const { own } = daemon();
      if (!own) return skip('the daemon is not this test’s own');
      await own.stop();
      await docker.backend.stop();
      await own.start();
      expect(await listContainers(daemon())).toHaveLength(1);
      await docker.backend.start();
      slot = await docker.backend.acquire(trajectory);
      expect((await docker.bash(slot, 'cat note /tmp/note')).output).toBe('kept\nkept\n');
      expect(await listContainers(daemon())).toHaveLength(1);
    });
  });
}
