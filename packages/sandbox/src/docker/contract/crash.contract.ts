/** A server that is killed: what it started ends, the next start finds what it left, and nobody else loses anything. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DockerBackendOptions } from '../docker-backend.ts';
import { TEST_IMAGE, type TestDaemon } from '../testing/docker-daemon.ts';
import { createTest, listContainers, newTrajectory, startTest } from '../testing/docker-fixture.ts';

/** The id of a server, in its directory. */
const ID = '.sandbox/docker/server';

const SLOTS = 50;
const SLOTS_PER_CONTAINER = 25;

export function describeCrash(daemon: () => TestDaemon): void {
  describe('crash', () => {
    test('after kill -9 with 50 slots in use the next start leaves no container of ours and all of others', async () => {
      const workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-docker-test-'));
      await using neighbour = await startTest(daemon(), { warmSlots: 0 });
      const neighbours = await neighbour.backend.acquire(newTrajectory());
      const options = {
        ...{ workspacesDir, image: TEST_IMAGE, dockerHost: daemon().host },
        ...{ slotsPerContainer: SLOTS_PER_CONTAINER, warmSlots: 0 },
      };
      const server = await startServer(options);
      const before = await listContainers(daemon());
      server.kill('SIGKILL');
      await once(server, 'exit');
      expect(before).toHaveLength(1 + SLOTS / SLOTS_PER_CONTAINER);

      // Nobody ends them: a container ends by itself with the connection of its owner.
      const running = async () => (await listContainers(daemon())).filter(({ State }) => State.Running);
      await expect.poll(async () => (await running()).length).toBe(1);

      await using restarted = await startTest(daemon(), options);
      const after = (await listContainers(daemon())).map(({ Id }) => Id);
      expect(after).toContain(neighbours.containerId);
      expect(after.filter((id) => before.some(({ Id }) => Id === id))).toEqual([neighbours.containerId]);
      expect(await neighbour.bash(neighbours, 'echo well')).toMatchObject({ output: 'well\n' });

      const slots = await Promise.all(
        Array.from({ length: SLOTS }, (_, index) => restarted.backend.acquire(`crashed-${index}`)),
      );
      const read = await restarted.backend.executeBatch(
        slots.map((slot) => [slot, 'read_file', { path: 'index' }]),
      );
      expect(read.map(({ output }) => output)).toEqual(slots.map((_, index) => `${index}`));
      const names = (await readdir(workspacesDir)).filter((name) => name !== '.sandbox');
      expect(names).toEqual([]);
    });

    test('a second server on the same directory, or on a copy of it, does not touch the first', async () => {
      await using first = await startTest(daemon(), { warmSlots: 0 });
      const slot = await first.backend.acquire(newTrajectory());
      await first.bash(slot, 'echo first > note');
      const copy = await mkdtemp(join(tmpdir(), 'talaria-docker-test-'));
      await cp(join(first.workspacesDir, ID), join(copy, ID), { recursive: true });
      for (const workspacesDir of [first.workspacesDir, copy]) {
        const second = await createTest(daemon(), { workspacesDir, warmSlots: 0 });
        await second.backend.start();
        expect(await first.bash(slot, 'cat note')).toMatchObject({ output: 'first\n' });
        await second.backend.stop();
        expect(await first.bash(slot, 'cat note')).toMatchObject({ output: 'first\n' });
      }
      await rm(copy, { recursive: true });
      expect(await listContainers(daemon())).toHaveLength(1);
    });
  });
}

/** A separate process that holds its slots, each with a file and a running command, until it is killed. */
async function startServer(options: DockerBackendOptions) {
  const module = new URL('../docker-backend.ts', import.meta.url).pathname;
  const program = `
    import { DockerBackend } from ${JSON.stringify(module)};
    const backend = new DockerBackend(${JSON.stringify(options)});
    await backend.start();
    const slots = await Promise.all(Array.from({ length: ${SLOTS} }, (_, i) => backend.acquire('crashed-' + i)));
    await backend.executeBatch(slots.map((slot, i) => [slot, 'write_file', { path: 'index', content: String(i) }]));
    backend.executeBatch(slots.map((slot) => [slot, 'bash', { command: 'sleep 600', timeout: 600 }]));
    console.log('ready');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), once(child, 'exit')]);
  expect(output).toBe('ready\n');
  return child;
}
