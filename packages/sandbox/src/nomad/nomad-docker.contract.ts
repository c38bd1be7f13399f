/** Nomad's docker driver, with an image that `talaria sandbox-image` would make. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { imageContext } from '../containers/image/image-context.ts';
import {
  callDocker,
  openTestDaemon,
  TEST_IMAGE,
  type TestDaemon,
  whyNoDocker,
} from '../docker/testing/docker-daemon.ts';
import type { NomadBackendOptions } from './nomad-backend.ts';
import { NomadAgent } from './testing/nomad-agent.ts';
import { createTest, jobNames, startTest } from './testing/nomad-fixture.ts';

const IMAGE = 'talaria-test:sandbox';
const MEGABYTE = 1024 * 1024;

export async function describeNomadDocker(): Promise<void> {
  const reason = await whyNoDocker();
  const title = reason === undefined ? 'docker' : `docker (missing: ${reason})`;
  describe.skipIf(reason !== undefined)(title, () => {
    let daemon: TestDaemon;
    let agent: NomadAgent;
    const options: Partial<NomadBackendOptions> = { job: { driver: 'docker', image: IMAGE } };
    beforeAll(async () => {
      daemon = await openTestDaemon();
      const { status, text } = await callDocker(
        daemon.host,
        'POST',
        `/build?t=${IMAGE}`,
        imageContext(TEST_IMAGE),
      );
      expect(status, text).toBe(200);
      agent = await NomadAgent.start({ dockerHost: daemon.host });
    });
    afterAll(async () => {
      await agent[Symbol.asyncDispose]();
      await daemon[Symbol.asyncDispose]();
    });

    test('a slot has a task of its own, without network or rights, and its files come back with it', async () => {
      await using nomad = await startTest(agent, options);
      expect(nomad.backend.stats().isolation.kind).toBe('container');
      const slot = await nomad.backend.acquire('trajectory');
      const said = await nomad.bash(
        slot,
        'id -u; cat /sys/class/net/*/address | sort -u; env | grep -c NOMAD_; echo kept > note',
      );
      expect(said.output).toBe('65533\n00:00:00:00:00:00\n0\n');
      expect(await nomad.bash(slot, 'touch /outside')).toMatchObject({ success: false });
      await nomad.backend.release(slot);
      const again = await nomad.backend.acquire('trajectory');
      expect(again.containerId).not.toBe(slot.containerId);
      expect((await nomad.bash(again, 'cat note')).output).toBe('kept\n');
      await nomad.backend.stop();
      expect(await jobNames(agent)).toEqual([]);
    });

    test('a command over the memory limit is told so', async () => {
      await using nomad = await startTest(agent, { ...options, limits: { memoryBytes: 64 * MEGABYTE } });
      const slot = await nomad.backend.acquire();
      expect(await nomad.bash(slot, 'tail /dev/zero')).toMatchObject({
        success: false,
        metadata: { failure: 'oom' },
      });
    });

    test('an image without the program says what it lacks, and leaves no job', async () => {
      await using nomad = await createTest(agent, { job: { driver: 'docker', image: TEST_IMAGE } });
      await expect(nomad.backend.start()).rejects.toMatchObject({
        code: 'container_failed',
        message: expect.stringContaining('/talaria/sandbox-server'),
      });
      expect(await jobNames(agent)).toEqual([]);
    });
  });
}
