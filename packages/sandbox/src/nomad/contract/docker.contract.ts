/** Nomad's docker driver, with an image that `talaria sandbox-image` would make. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TEST_IMAGE, whyNoDocker } from '../../docker/testing/docker-daemon.ts';
import type { NomadBackendOptions } from '../nomad-backend.ts';
import type { NomadAgent } from '../testing/nomad-agent.ts';
import { type DockerAgent, SANDBOX_IMAGE, startDockerAgent } from '../testing/nomad-docker.ts';
import { createTest, jobNames, startTest } from '../testing/nomad-fixture.ts';

const MEGABYTE = 1024 * 1024;

export async function describeNomadDocker(): Promise<void> {
  const reason = await whyNoDocker();
  const title = reason === undefined ? 'docker' : `docker (missing: ${reason})`;
  describe.skipIf(reason !== undefined)(title, () => {
    let docker: DockerAgent;
    let agent: NomadAgent;
    const options: Partial<NomadBackendOptions> = { job: { driver: 'docker', image: SANDBOX_IMAGE } };
    beforeAll(async () => {
      docker = await startDockerAgent();
      agent = docker.agent;
    });
    afterAll(() => docker[Symbol.asyncDispose]());

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

    test('a command can ask Nomad for nothing through the socket of its task, and finds no token', async () => {
      await using nomad = await startTest(agent, options);
      const slot = await nomad.backend.acquire();
      const asked = ['/v1/jobs', '/v1/nodes', '/v1/agent/self', '/v1/vars', '/v1/status/leader'];
      const { output } = await nomad.bash(slot, `/talaria/node -e '${askTaskApi(asked)}'`);
      const answers: (string | number)[] = JSON.parse(output);
      expect(answers).toHaveLength(asked.length);
      for (const answer of answers) expect([401, 403, 'EACCES', 'ENOENT']).toContain(answer);
      const found = await nomad.bash(
        slot,
        'cat /secrets/nomad_token; env; cat /proc/[0-9]*/environ; grep -rs eyJ /secrets /local; true',
      );
      expect(found.output).not.toContain('NOMAD_TOKEN');
      // As every signed token begins.
      expect(found.output).not.toContain('eyJ');
    });

    test('a command over the memory limit fails with `oom`', async () => {
      await using nomad = await startTest(agent, { ...options, limits: { memoryBytes: 64 * MEGABYTE } });
      const slot = await nomad.backend.acquire();
      expect(await nomad.bash(slot, 'tail /dev/zero')).toMatchObject({
        success: false,
        metadata: { failure: 'oom' },
      });
    });

    test.each(['/alloc/data', '/local', '$HOME'])(
      'a command over the disk limit fails with `disk_full`, wherever it writes: %s',
      async (dir) => {
        await using nomad = await startTest(agent, { ...options, limits: { workspaceBytes: 20 * MEGABYTE } });
        const slot = await nomad.backend.acquire();
        const fill = `for i in $(seq 100); do head -c 4M /dev/zero > ${dir}/part$i || exit; done; sleep 60`;
        expect(await nomad.bash(slot, fill)).toMatchObject({
          success: false,
          metadata: { failure: 'disk_full' },
        });
      },
    );

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

/** A program that asks the agent these questions over the socket that Nomad gives every task, and prints what it answers. */
function askTaskApi(paths: readonly string[]): string {
  return `
    const { get } = require("node:http");
    const ask = (path) => new Promise((resolve) => {
      get({ socketPath: "/secrets/api.sock", path }, (answer) => resolve(answer.resume().statusCode))
        .on("error", (error) => resolve(error.code));
    });
    Promise.all(${JSON.stringify(paths)}.map(ask)).then((answers) => console.log(JSON.stringify(answers)));
  `;
}
