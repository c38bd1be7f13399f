/** Containers with a kernel of their own: which daemons are refused, what commands see and may use, and how a container dies. */
import { release } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callDocker, type TestDaemon } from '../testing/docker-daemon.ts';
import {
  createTest,
  type DockerTest,
  inspectContainer,
  newTrajectory,
  startTest,
} from '../testing/docker-fixture.ts';

const MB = 1024 * 1024;

/** The daemon's names of gVisor: complete, or with a part missing. */
export const GVISOR = { whole: 'runsc', noSockets: 'runsc-no-sockets', noGroups: 'runsc-no-groups' } as const;

export function describeGvisorStart(daemon: () => TestDaemon): void {
  describe('starting', () => {
    const allContainers = async () => (await callDocker(daemon().host, 'GET', '/containers/json?all=1')).text;
    const limits = { memoryBytes: 256 * MB, processes: 64 };

    test.each([
      ['a runtime that the daemon does not know', { runtime: 'missing' }, 'isolation_unavailable', 'it has '],
      ['sockets that stay inside', { runtime: GVISOR.noSockets }, 'container_failed', '--host-uds=all'],
      ['no control groups', { runtime: GVISOR.noGroups, limits }, 'limit_unenforceable', '--ignore-cgroups'],
      [
        'no control groups, under limits that need not hold elsewhere',
        { runtime: GVISOR.noGroups, limits: {}, preferredLimits: limits },
        ...(['limit_unenforceable', '--ignore-cgroups'] as const),
      ],
    ])('%s: refused, with what to change, and nothing is left', async (_, options, code, said) => {
      await using docker = await createTest(daemon(), options);
      const before = await allContainers();
      await expect(docker.backend.start()).rejects.toMatchObject({
        code,
        message: expect.stringContaining(said),
      });
      expect(await allContainers()).toBe(before);
    });

    test('without control groups it starts if no limit is requested', async () => {
      await using docker = await startTest(daemon(), { runtime: GVISOR.noGroups, limits: {}, warmSlots: 0 });
      expect(docker.backend.stats().limits).toEqual([]);
    });
  });
}

export function describeGvisorWalls(daemon: () => TestDaemon): void {
  describe('a kernel of its own', () => {
    let docker: DockerTest;
    beforeAll(async () => {
      const limits = { memoryBytes: 128 * MB, processes: 32, cpus: 1 };
      docker = await startTest(daemon(), { runtime: GVISOR.whole, limits });
    });
    afterAll(() => docker[Symbol.asyncDispose]());

    test('commands see it and not that of the machine, and the backend names the runtime', async () => {
      const slot = await docker.backend.acquire();
      const { output } = await docker.bash(
        slot,
        'uname -r; ls /talaria/workspaces; tail -n +3 /proc/net/dev',
      );
      expect(output).toContain('gvisor\n');
      expect(output).not.toContain(release());
      expect(output).not.toMatch(/^\s*(eth|docker)/m);
      expect(docker.backend.stats()).toMatchObject({
        isolation: { kind: 'container', description: expect.stringContaining(`runtime ${GVISOR.whole}`) },
        limits: expect.arrayContaining([
          expect.objectContaining({ limit: 'memoryBytes', by: 'container' }),
          expect.objectContaining({ limit: 'processes', by: 'container' }),
          expect.objectContaining({ limit: 'cpus', by: 'container' }),
        ]),
      });
      await docker.backend.release(slot);
    });

    test('its processes are counted inside, and the machine allows the threads behind them', async () => {
      const slot = await docker.backend.acquire();
      const { output } = await docker.bash(
        slot,
        'for i in $(seq 200); do sleep 60 & echo $i; done 2>/dev/null',
      );
      const started = output.trim().split('\n').length;
      expect(started).toBeGreaterThan(32);
      expect(started).toBeLessThan(32 + 64);
      const details = await inspectContainer(daemon(), slot.containerId);
      expect(details?.HostConfig.PidsLimit).toBeGreaterThan(1_000);
      expect(await docker.bash(slot, 'echo well')).toMatchObject({ output: 'well\n' });
      await docker.backend.release(slot);
    });

    test('the whole container ends when memory runs out; the call reports it, and the workspace is kept', async () => {
      const trajectory = newTrajectory();
      const slot = await docker.backend.acquire(trajectory);
      await docker.bash(slot, 'echo kept > note');
      expect(await docker.bash(slot, 'tail /dev/zero')).toMatchObject({
        success: false,
        metadata: { failure: 'oom' },
      });
      await docker.backend.release(slot);
      const next = await docker.backend.acquire(trajectory);
      expect((await docker.bash(next, 'cat note')).output).toBe('kept\n');
      await docker.backend.release(next, { resetWorkspace: true });
    });
  });
}
