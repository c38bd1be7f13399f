/**
 * A start that cannot work says why and what to do, and leaves nothing behind: no container, no directory, no socket.
 */
import { readdir } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { importImage, type TestDaemon } from '../testing/docker-daemon.ts';
import { createTest, listContainers, startTest } from '../testing/docker-fixture.ts';
import { packTestRoot, TEST_PROGRAMS } from '../testing/test-image.ts';

const NO_LIBRARIES = 'talaria-test:no-libraries';
const NO_SHELL = 'talaria-test:no-shell';
const NO_DU = 'talaria-test:no-du';

/** What every backend keeps in its directory; it includes its id, by which it finds its containers again. */
const KEPT = ['', '/slots', '/trash', '/away', '/docker', '/docker/server'].map((path) => `.sandbox${path}`);

export function describeStarting(daemon: () => TestDaemon): void {
  describe('starting', () => {
    beforeAll(async () => {
      await using noLibraries = await packTestRoot({ programs: ['sh'], nodeLibraries: false });
      await importImage(daemon().host, NO_LIBRARIES, noLibraries.path);
      await using noShell = await packTestRoot({ programs: ['true'] });
      await importImage(daemon().host, NO_SHELL, noShell.path);
      await using noDu = await packTestRoot({ programs: TEST_PROGRAMS.filter((name) => name !== 'du') });
      await importImage(daemon().host, NO_DU, noDu.path);
    });

    test("an image's environment applies to commands, and not to the server inside", async () => {
      await using root = await packTestRoot();
      const image = 'talaria-test:opinionated';
      await importImage(daemon().host, image, root.path, [
        ...['ENV GREETING="hello there"', 'ENV PATH=/opt/tools:/bin', 'ENV HOME=/nowhere'],
        ...[
          'ENV NODE_OPTIONS=--no-such-option',
          'ENV LD_LIBRARY_PATH=/opt/lib',
          'USER root',
          'WORKDIR /nowhere',
        ],
        ...['ENTRYPOINT ["/bin/false"]', 'CMD ["nothing"]', 'VOLUME /volume'],
      ]);
      await using docker = await startTest(daemon(), { image });
      const slot = await docker.backend.acquire();
      const { output } = await docker.bash(slot, 'echo "$GREETING"; echo "$PATH"; echo "$HOME"; id -u; env');
      expect(output).toMatch(/^hello there\n\/opt\/tools:\/bin:\S+\n\/workspace\n[1-9]\d*\n/);
      expect(output).toContain('LD_LIBRARY_PATH=/opt/lib\n');
      expect(output).not.toContain('NODE_OPTIONS');
    });

    const containerIds = async () => (await listContainers(daemon())).map(({ Id }) => Id);

    test.each([
      ['an image that is not there', { image: 'talaria-test:missing' }, 'docker pull talaria-test:missing'],
      ['an image in which node does not run', { image: NO_LIBRARIES }, 'cannot open shared object file'],
      ['an image without a shell', { image: NO_SHELL }, '/bin/sh'],
      [
        'a server that cannot enforce a limit',
        { image: NO_DU, limits: { workspaceBytes: 1e9 } },
        'not enforced',
      ],
      ['a daemon that is not there', { dockerHost: 'unix:///nowhere/docker.sock' }, 'start it'],
      ['a port where nobody listens', { dockerHost: 'tcp://127.0.0.1:1' }, 'DOCKER_HOST'],
    ])('%s', async (_, options, said) => {
      await using docker = await createTest(daemon(), options);
      const before = await containerIds();
      await expect(docker.backend.start()).rejects.toMatchObject({
        name: 'SandboxError',
        message: expect.stringContaining(said),
      });
      expect(await containerIds()).toEqual(before);
      const left = await readdir(docker.workspacesDir, { recursive: true });
      expect(left.filter((path) => !KEPT.includes(path))).toEqual([]);
    });
  });
}
