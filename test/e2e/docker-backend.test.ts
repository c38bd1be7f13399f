/**
 * A run whose tools run in Docker: the same for its client as any other, and nothing is left when the server is gone.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  openTestDaemon,
  TEST_IMAGE,
  type TestDaemon,
  whyNoDocker,
} from '../../packages/sandbox/src/docker/testing/docker-daemon.ts';
import { listContainers } from '../../packages/sandbox/src/docker/testing/docker-fixture.ts';
import { script } from '../support/model-server.ts';
import { FROM_SOURCE, ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { inTurn, play } from './played-run.ts';
import { endsAs, ServerWithModel, terminal } from './server-with-model.ts';

const reason = await whyNoDocker();
/** The first test shows that the parts fit together. What is special about Docker is in packages/sandbox/src/docker. */
const SOAK = { tags: ['soak'] };
const title = reason === undefined ? 'docker' : `docker (missing: ${reason})`;

describe.skipIf(reason !== undefined)(title, () => {
  let daemon: TestDaemon;
  let world: ServerWithModel<ServerProcess>;

  const settings = () => ({
    TALARIA_BACKEND: 'docker',
    TALARIA_DOCKER_IMAGE: TEST_IMAGE,
    DOCKER_HOST: daemon.host,
    TALARIA_WARM_SLOTS: '0',
    TALARIA_APPROVALS_ISOLATED: 'skip',
    TALARIA_SLOTS: 'true',
  });

  beforeAll(async () => {
    daemon = await openTestDaemon();
    world = await ServerWithModel.startProcess(settings(), { program: FROM_SOURCE });
  });

  afterAll(async () => {
    await world.server.kill('SIGTERM');
    const left = await listContainers(daemon);
    await world[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
    expect(left).toEqual([]);
  });

  const text = async (runId: string, path: string) =>
    (await fetch(`${world.server.url}/v1/runs/${runId}/artifacts/content?path=${path}`)).text();

  test('tools work in a container, and the files of the run can be read after it', async () => {
    const { runId, output, completed, told } = await play(
      world,
      ...inTurn(
        { name: 'write_file', arguments: { path: 'greeting', content: 'hello\n' } },
        terminal('tr a-z A-Z < greeting > loud; cat loud; ls /talaria 2>/dev/null; id -u'),
        { name: 'search_files', arguments: { pattern: 'HELLO' } },
      ),
    );
    expect(output).toBe('I see');
    expect(completed.map(({ error }) => error)).toEqual([false, false, false]);
    expect(told[1]?.content).toContain('HELLO\n1000\n');
    expect(told[2]?.content).toContain('loud:1:HELLO');
    expect(await text(runId, 'loud')).toBe('HELLO\n');
  });

  test('/health/detailed shows the sandbox', async () => {
    const { body } = await world.api.request<{ readiness: { checks: { sandbox: object } } }>(
      'GET',
      '/health/detailed',
    );
    expect(body.readiness.checks.sandbox).toMatchObject({
      status: 'ok',
      backend: 'docker',
      detail: expect.stringContaining('Docker'),
      containers: { ready: 1 },
      slots: { executing: 0 },
      limits: { memory: expect.stringContaining('4096 MB') },
    });
  });

  test(
    'a run continues after kill -9 with its files, and the earlier containers are gone',
    SOAK,
    async () => {
      const steps = [
        { tools: [terminal('echo kept > note; echo started > started; sleep 600')] },
        { tools: [terminal('cat note')] },
        { text: 'done' },
      ];
      const runId = await world.api.create(script(steps));
      await waitFor('the command to run', async () => (await text(runId, 'started')) === 'started\n');
      const before = (await listContainers(daemon)).map(({ Id }) => Id);
      await world.server.kill();
      await world.server.start();
      const { frames } = await endsAs(world.api, runId, 'run.completed');
      expect(frames.map(({ event }) => event)).toContainEqual(
        expect.objectContaining({ event: 'tool.completed', preview: expect.stringContaining('kept') }),
      );
      const after = (await listContainers(daemon)).map(({ Id }) => Id);
      expect(after.filter((id) => before.includes(id))).toEqual([]);
    },
  );

  test(
    'slots of clients are in containers, and keep the files of their trajectory after kill -9',
    SOAK,
    async () => {
      const acquire = async () =>
        (await world.api.post<{ id: string }>('/v1/slots', { trajectory_id: 'task' })).body.id;
      const execute = (slotId: string, command: string) => {
        const requests = [{ slot_id: slotId, tool: 'bash', args: { command } }];
        return world.api.post<{ results: { output: string }[] }>('/v1/slots/execute', { requests });
      };
      const first = await acquire();
      const { body } = await execute(first, 'echo kept > note; pwd; ls /talaria 2>/dev/null; id -u');
      expect(body.results).toMatchObject([{ output: '/workspace\n1000\n' }]);
      const cutOff = execute(first, 'echo started > started; sleep 600').catch((error: unknown) => error);
      await waitFor('the command to run', async () => {
        const { body } = await execute(first, 'cat started');
        return body.results[0]?.output === 'started\n';
      });
      await world.server.kill();
      expect(await cutOff).toBeInstanceOf(TypeError);
      await world.server.start();
      expect((await execute(first, 'cat note')).status).toBe(404);
      const again = await acquire();
      expect((await execute(again, 'cat note')).body.results).toMatchObject([{ output: 'kept\n' }]);
      await world.api.post(`/v1/slots/${again}/release`, { reset_workspace: true });
    },
  );

  test('a server that cannot start its containers says why, and does not start', SOAK, async () => {
    const server = new ServerProcess({
      program: FROM_SOURCE,
      env: { ...settings(), TALARIA_DOCKER_IMAGE: 'talaria-test:missing' },
    });
    expect(await server.startAndExit()).toMatchObject({ code: 1 });
    expect(server.errors).toContain('docker pull talaria-test:missing');
    await server[Symbol.asyncDispose]();
  });
});
