/**
 * Containers that cannot isolate their slots, because of their image or runtime: each has one slot and ends with it, and the
 * backend trusts nothing in it.
 */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workspaceName } from '../../workspace/workspace-names.ts';
import type { DockerBackendOptions } from '../docker-backend.ts';
import { DaemonInBetween } from '../testing/daemon-in-between.ts';
import { importImage, type TestDaemon } from '../testing/docker-daemon.ts';
import {
  createTest,
  type DockerTest,
  inspectContainer,
  newTrajectory,
  startTest,
} from '../testing/docker-fixture.ts';
import { packTestRoot, TEST_PROGRAMS } from '../testing/test-image.ts';

export const NO_NAMESPACES = 'talaria-test:no-namespaces';

/** Makes the image, which lacks what makes namespaces. */
export async function importNoNamespaces(daemon: TestDaemon): Promise<void> {
  const programs = TEST_PROGRAMS.filter((name) => name !== 'bwrap' && name !== 'unshare');
  await using root = await packTestRoot({ programs });
  await importImage(daemon.host, NO_NAMESPACES, root.path);
}

/** `options` name such an image or runtime. */
export function describePlain(daemon: () => TestDaemon, options: Partial<DockerBackendOptions>): void {
  describe('without namespaces inside', () => {
    let docker: DockerTest;
    beforeAll(async () => {
      docker = await startTest(daemon(), options);
    });
    afterAll(() => docker[Symbol.asyncDispose]());

    test('several slots in a container are refused, with what to change', async () => {
      await using refused = await createTest(daemon(), { ...options, slotsPerContainer: 2 });
      await expect(refused.backend.start()).rejects.toMatchObject({
        code: 'isolation_unavailable',
        message: expect.stringContaining('set the slots per container to 1'),
      });
    });

    test('a slot has a container of its own, with the profiles of Docker, and the backend says so', async () => {
      expect(docker.backend.stats().isolation).toMatchObject({
        kind: 'container',
        description: expect.stringContaining('a container of its own'),
      });
      const [one, two] = await Promise.all([docker.backend.acquire(), docker.backend.acquire()]);
      expect(one.containerId).not.toBe(two.containerId);
      const details = await inspectContainer(daemon(), one.containerId);
      expect(details?.HostConfig).toMatchObject({
        CapDrop: ['ALL'],
        NetworkMode: 'none',
        ReadonlyRootfs: true,
      });
      expect(details?.HostConfig.SecurityOpt).toEqual(['no-new-privileges']);
      expect(details?.HostConfig.MaskedPaths).toContain('/proc/kcore');
      expect((await docker.bash(one, 'id -u; pwd; ls /tmp | wc -l')).output).toMatch(
        /^[1-9]\d*\n\/talaria\/workspaces\/\S+\n/,
      );
      await docker.backend.release(one);
      await docker.backend.release(two);
      await expect.poll(() => inspectContainer(daemon(), one.containerId)).toBeUndefined();
    });

    test('the workspace is kept for its trajectory, and its container is not used again', async () => {
      const trajectory = newTrajectory();
      const first = await docker.backend.acquire(trajectory);
      const running = docker.bash(first, 'echo kept > note; echo kept > "$TMPDIR/note"; sleep 600', {
        timeout: 600,
      });
      await expect.poll(async () => (await docker.bash(first, 'cat note')).output).toBe('kept\n');
      await docker.backend.release(first);
      expect(await running).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
      const second = await docker.backend.acquire(trajectory);
      expect(second.containerId).not.toBe(first.containerId);
      expect((await docker.bash(second, 'cat note "$TMPDIR/note"')).output).toBe('kept\nkept\n');
      await docker.backend.release(second, { resetWorkspace: true });
    });

    test('every call under way in a slot that is released is answered as aborted', async () => {
      const slot = await docker.backend.acquire();
      const running = Promise.all(
        Array.from({ length: 10 }, () => docker.bash(slot, 'echo begun; sleep 600')),
      );
      await expect
        .poll(async () => (await docker.bash(slot, 'ps -e -o comm | grep -c sleep')).output)
        .toBe('10\n');
      await docker.backend.release(slot);
      for (const result of await running)
        expect(result).toMatchObject({ output: 'begun\n', metadata: { failure: 'aborted' } });
    });

    test('a container that is released while it is checked does not count as dead', async () => {
      await using checked = await startTest(daemon(), { ...options, healthIntervalS: 0.001 });
      for (let round = 0; round < 3; round++)
        await checked.backend.release(await checked.backend.acquire(), { resetWorkspace: true });
      expect(checked.troubles).toEqual([]);
    });

    test('an unreachable daemon delays no release, and the container is ended when it is back', async () => {
      await using between = new DaemonInBetween(daemon().host);
      await between.open();
      await using docker = await startTest(daemon(), {
        ...options,
        dockerHost: between.host,
        warmSlots: 0,
      });
      const trajectory = newTrajectory();
      const slot = await docker.backend.acquire(trajectory);
      const running = docker.bash(slot, 'echo kept > note; sleep 600', { timeout: 600 });
      await expect.poll(async () => (await docker.bash(slot, 'cat note')).output).toBe('kept\n');
      await between.cut();
      await docker.backend.release(slot);
      expect(await running).toMatchObject({ metadata: { failure: 'aborted' } });
      await between.open();
      const again = await docker.backend.acquire(trajectory);
      expect((await docker.bash(again, 'cat note')).output).toBe('kept\n');
      expect(await inspectContainer(daemon(), slot.containerId)).toBeUndefined();
    });

    test('a command that kills everything in its container loses only its own slot', async () => {
      const trajectory = newTrajectory();
      const slot = await docker.backend.acquire(trajectory);
      await docker.bash(slot, 'echo kept > note');
      expect(await docker.bash(slot, 'kill -KILL -1; sleep 60')).toMatchObject({
        metadata: { failure: 'gone' },
      });
      await docker.backend.release(slot);
      const next = await docker.backend.acquire(trajectory);
      expect((await docker.bash(next, 'cat note')).output).toBe('kept\n');
      await docker.backend.release(next, { resetWorkspace: true });
    });

    test('files beside the workspace count towards its limit, and are deleted with the container', async () => {
      await using limited = await startTest(daemon(), {
        ...options,
        warmSlots: 0,
        limits: { workspaceBytes: 32 * 1024 * 1024 },
      });
      for (const dir of ['/talaria/run', '/talaria/workspaces']) {
        const trajectory = newTrajectory();
        const slot = await limited.backend.acquire(trajectory);
        const fill = `echo kept > note; for i in $(seq 1000); do head -c 8M /dev/zero > ${dir}/$i; done`;
        const filled = await limited.bash(slot, fill);
        expect(filled).toMatchObject({ success: false, metadata: { failure: 'disk_full' } });
        await limited.backend.release(slot);
        const next = await limited.backend.acquire(trajectory);
        expect((await limited.bash(next, `cat note; ls ${dir} | grep -c '^[0-9]'`)).output).toBe('kept\n0\n');
        await limited.backend.release(next, { resetWorkspace: true });
      }
    });

    test('orphans leave no zombies', async () => {
      const slot = await docker.backend.acquire();
      for (let round = 0; round < 3; round++)
        await docker.bash(slot, '(setsid sh -c "sleep 0.01; true" &) ; (true &)');
      const zombies = 'cat /proc/[0-9]*/stat 2>/dev/null | grep -c " Z " || :';
      await expect.poll(async () => (await docker.bash(slot, zombies)).output).toBe('0\n');
      await docker.backend.release(slot);
    });

    test('a container that changes its directories affects neither other workspaces nor the host', async () => {
      const [mine, theirs] = [newTrajectory(), newTrajectory()];
      const before = await readdir(docker.workspacesDir);
      const slot = await docker.backend.acquire(mine);
      const own = `/talaria/workspaces/${workspaceName(mine)}`;
      await docker.bash(
        slot,
        [
          `mkdir /talaria/workspaces/${workspaceName(theirs)}; echo forged > /talaria/workspaces/${workspaceName(theirs)}/note`,
          'rm -rf /talaria/workspaces/.sandbox/slots; ln -s /etc /talaria/workspaces/.sandbox/slots',
          `cd /; mv ${own} /talaria/workspaces/elsewhere; ln -s /etc ${own}`,
          'rm -f /talaria/run/socket; ln -s /var/run/docker.sock /talaria/run/socket',
        ].join('; '),
      );
      await docker.backend.release(slot);
      expect(await docker.backend.workspaces.open(theirs)).toBeUndefined();
      expect(await docker.backend.workspaces.open(mine)).toBeUndefined();
      const left = await readdir(docker.workspacesDir);
      expect(left).toEqual(before);
      for (const name of left)
        expect((await lstat(join(docker.workspacesDir, name))).isDirectory()).toBe(true);
      const again = await docker.backend.acquire(mine);
      expect((await docker.bash(again, 'ls -A')).output).toBe('');
      await docker.backend.release(again, { resetWorkspace: true });
    });
  });
}
