/**
 * A run whose files are in a task of a Nomad cluster while it works: when the task or the server is lost, it continues with the
 * files of its last checkpoint, and is told so.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NomadAgent, whyNoNomad } from '../../packages/sandbox/src/nomad/testing/nomad-agent.ts';
import { script } from '../support/model-server.ts';
import { FROM_SOURCE, type ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { toldOf } from './played-run.ts';
import { endsAs, ofKind, ServerWithModel, terminal } from './server-with-model.ts';

const reason = whyNoNomad();
/** What the last command sees after the second one was cut off. */
const RESTORED = 'first\nearly\nnote\n';

// checkpoints-elsewhere.test.ts shows in npm test that a run continues with its last checkpoint, without a cluster.
describe.skipIf(reason)(`Nomad${reason ? ` (missing: ${reason})` : ''}`, { tags: ['soak'] }, () => {
  let agent: NomadAgent;
  let world: ServerWithModel<ServerProcess>;

  beforeAll(async () => {
    agent = await NomadAgent.start();
    const env = {
      TALARIA_BACKEND: 'nomad',
      TALARIA_NOMAD_DRIVER: 'raw_exec',
      NOMAD_ADDR: agent.address,
      TALARIA_WARM_SLOTS: '0',
      TALARIA_APPROVALS_ISOLATED: 'skip',
      TALARIA_APPROVALS_UNISOLATED: 'skip',
    };
    world = await ServerWithModel.startProcess(env, { program: FROM_SOURCE });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await agent?.[Symbol.asyncDispose]();
  });

  /** A run with a saved file whose second call runs, and what it is told in the end. */
  async function interrupted(interrupt: () => Promise<void>) {
    const prompt = script([
      { tools: [terminal('echo first > note')] },
      { tools: [terminal('echo second >> note; echo started > started; sleep 600')] },
      { tools: [terminal('cat note; ls')] },
      { text: 'done' },
    ]);
    // The files of the start are also on the disk of the server, from before the task had them.
    const workspace = { files: [{ path: 'early', content: 'there' }] };
    const runId = await world.api.create(prompt, { workspace });
    const started = () =>
      fetch(`${world.server.url}/v1/runs/${runId}/artifacts/content?path=started`).then((it) => it.text());
    await waitFor('the second call to run', async () => (await started()) === 'started\n');
    await interrupt();
    const { frames } = await endsAs(world.api, runId, 'run.completed');
    return { frames, told: toldOf(world, prompt) };
  }

  async function stopTasks(): Promise<void> {
    const tasks = await agent.call<{ ID: string; ClientStatus: string }[]>('GET', '/v1/allocations');
    for (const { ID, ClientStatus } of tasks) {
      if (ClientStatus === 'running') await agent.call('POST', `/v1/allocation/${ID}/stop`, {});
    }
  }

  test('after its task is lost, a run continues with its last checkpoint', async () => {
    const { frames, told } = await interrupted(stopTasks);
    const [, lost, after] = ofKind(frames, 'tool.completed');
    expect(lost).toMatchObject({ error: true, workspace_restored: true });
    expect(lost).not.toHaveProperty('workspace_as_of_seq');
    expect(told[1]?.content).toContain('The sandbox of this run was lost');
    expect(told[1]?.content).toContain(
      'The files of the workspace were lost with the sandbox and restored, as they were after the last tool call that completed',
    );
    expect(after?.preview).toBe(RESTORED);
  });

  test('after kill -9 of the server, the older files on its disk do not hide the last checkpoint', async () => {
    const { frames } = await interrupted(async () => {
      await world.server.kill();
      await world.server.start();
    });
    expect(ofKind(frames, 'run.resumed')).toMatchObject([{ workspace_restored: true }]);
    expect(ofKind(frames, 'tool.completed').at(-1)?.preview).toBe(RESTORED);
  });
});
