/** Runs that wait for an approval cost nothing: they hold no worker and no slot, and everybody else works on. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import type { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  endsAs,
  markedSleep,
  names,
  ofKind,
  processesWith,
  ServerWithModel,
  terminal,
  waitForApproval,
  waitForStatus,
} from './server-with-model.ts';

/** Asks before it runs. */
const gated = (name: string) => terminal(`rm -rf build; touch ran-${name}`);
const asking = () => script([{ tools: [gated('it')] }, { text: 'done' }]);
const harmless = () => script([{ tools: [terminal('echo here')] }, { text: 'done' }]);

interface Health {
  active_agents: number;
  queue: { queued: number; leased: number; waiting: number };
}

const health = async (api: Api): Promise<Health> => (await api.get<Health>('/health/detailed')).body;

/** What the model got when it was last asked for this prompt. */
function lastConversation({ model }: Pick<ServerWithModel, 'model'>, prompt: string): string {
  const asked = model.requests.findLast(({ scriptId }) => prompt.includes(`id=${scriptId} `));
  return JSON.stringify(asked!.body.messages);
}

/** Until nobody works on anything, and this many wait. */
function waiting(api: Api, count: number): Promise<unknown> {
  return waitFor(
    `${count} runs to wait`,
    async () => {
      const { queue, active_agents } = await health(api);
      return queue.waiting === count && queue.queued + queue.leased + active_agents === 0;
    },
    120_000,
  );
}

async function startAsking(api: Api, count: number): Promise<string[]> {
  const runIds: string[] = [];
  for (let n = 0; n < count; n += 1) runIds.push(await api.create(asking()));
  await waiting(api, count);
  return runIds;
}

async function approveAll(api: Api, runIds: readonly string[]): Promise<void> {
  for (const runId of runIds) {
    expect(await api.approve(runId, 'once')).toMatchObject({ status: 200, body: { resolved: 1 } });
  }
}

describe('with the default number of workers', () => {
  let world: ServerWithModel<HostedServer>;
  let api: Api;
  const ran = (runId: string, name = 'it') => existsSync(world.workspaceFile(runId, `ran-${name}`));

  beforeAll(async () => {
    world = await ServerWithModel.start({ TALARIA_MAX_QUEUED_RUNS: '100000' });
    api = world.api;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('twenty unanswered questions delay nobody', async () => {
    const asked = await startAsking(api, 20);
    const other = await api.create(harmless());
    await endsAs(api, other, 'run.completed');
    for (const runId of asked) {
      expect(await api.run(runId)).toMatchObject({ status: 'waiting_for_approval' });
      expect(ran(runId)).toBe(false);
    }
    await approveAll(api, asked);
    for (const runId of asked) {
      const { frames } = await endsAs(api, runId, 'run.completed');
      expect(names(frames).filter((name) => name !== 'message.delta')).toEqual([
        'step.completed',
        'tool.started',
        'approval.request',
        'approval.responded',
        'tool.completed',
        'step.completed',
        'run.completed',
      ]);
      expect(ran(runId)).toBe(true);
    }
    expect((await health(api)).queue).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
  });

  test('a run that waits ends at once when it is stopped', async () => {
    const [runId] = await startAsking(api, 1);
    await api.stop(runId!);
    expect((await api.run(runId!)).status).toBe('cancelled');
    await waiting(api, 0);
  });

  test('the next run of its session still waits for it', async () => {
    const session = { session_id: 'one-after-the-other' };
    const first = await api.create(asking(), session);
    await waiting(api, 1);
    const second = await api.create(script([{ text: 'second' }]), session);
    const third = await api.create(script([{ text: 'elsewhere' }]));
    await endsAs(api, third, 'run.completed');
    expect(await api.run(second)).toMatchObject({
      status: 'started',
      queue: { position: 1, waiting_for: 'session' },
    });
    await approveAll(api, [first]);
    const { timestamp: firstEnd } = await endsAs(api, first, 'run.completed');
    const { timestamp: secondEnd } = await endsAs(api, second, 'run.completed');
    expect(secondEnd).toBeGreaterThanOrEqual(firstEnd);
  });

  test('a restart leaves waiting runs as they are, and they go on with their answers', async () => {
    const asked = await startAsking(api, 3);
    await world.server.restart();
    api = world.api;
    await waiting(api, 3);
    await approveAll(api, asked);
    for (const runId of asked) {
      expect(names((await endsAs(api, runId, 'run.completed')).frames)).not.toContain('run.resumed');
    }
  });

  test('a background process lives through the wait, which takes no place', async () => {
    const { command, marker } = markedSleep();
    const prompt = script([
      { tools: [terminal(command, { background: true })] },
      { tools: [gated('it')] },
      { text: 'done' },
    ]);
    const runId = await api.create(prompt);
    await waiting(api, 1);
    expect(processesWith(marker)).not.toEqual([]);
    await approveAll(api, [runId]);
    await endsAs(api, runId, 'run.completed');
    expect(ran(runId)).toBe(true);
    expect(lastConversation(world, prompt)).not.toContain('background processes have ended');
    await waitFor('the process to end with its run', () => processesWith(marker).length === 0);
  });

  test('a stop ends a run that waits with background processes, and those', async () => {
    const { command, marker } = markedSleep();
    const runId = await api.create(
      script([{ tools: [terminal(command, { background: true })] }, { tools: [gated('it')] }]),
    );
    await waiting(api, 1);
    await api.stop(runId);
    await waitForStatus(api, runId, 'cancelled');
    expect(processesWith(marker)).toEqual([]);
  });
});

test('beyond the bound the longest wait loses its background processes, and the model is told', async () => {
  await using world = await ServerWithModel.start({ TALARIA_MAX_CONCURRENT_RUNS: '2' });
  const { api } = world;
  const runs: { runId: string; prompt: string; marker: string }[] = [];
  for (let n = 1; n <= 3; n += 1) {
    const { command, marker } = markedSleep();
    const prompt = script([
      { tools: [terminal(command, { background: true })] },
      { tools: [gated('it')] },
      { tools: [gated('again')] },
      { text: 'done' },
    ]);
    runs.push({ runId: await api.create(prompt), prompt, marker });
    await waiting(api, n);
  }
  const [first, ...others] = runs;
  expect(processesWith(first!.marker)).toEqual([]);
  for (const { marker } of others) expect(processesWith(marker)).not.toEqual([]);
  for (const { runId } of runs) {
    const { request_id } = await waitForApproval(api, runId);
    await api.approve(runId, 'once');
    await waitForApproval(api, runId, request_id);
  }
  await waiting(api, 3);
  for (const { runId } of runs) await api.approve(runId, 'once');
  for (const { runId, prompt } of runs) {
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(names(frames)).not.toContain('run.resumed');
    const told = lastConversation(world, prompt).split('background processes have ended').length - 1;
    expect(told).toBe(runId === first!.runId ? 1 : 0);
  }
});

test('a question that nobody answers is denied after its timeout, also after a restart', async () => {
  await using world = await ServerWithModel.start({ TALARIA_APPROVAL_TIMEOUT_SECONDS: '2' });
  const runId = await world.api.create(asking());
  await waiting(world.api, 1);
  await world.server.restart();
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  expect(ofKind(frames, 'approval.responded')).toMatchObject([{ choice: 'deny', reason: 'timeout' }]);
  expect(ofKind(frames, 'approval.request')).toHaveLength(1);
});

test('nobody can approve after the timeout, also while every worker is busy, and the run says that it waits for one', async () => {
  await using world = await ServerWithModel.start({
    TALARIA_APPROVAL_TIMEOUT_SECONDS: '2',
    TALARIA_MAX_CONCURRENT_RUNS: '1',
  });
  const { api, model } = world;
  const late = await api.create(asking());
  await waiting(api, 1);
  await api.create(script([{ gate: 'busy', text: 'done' }]));
  await model.waitingAt('busy');
  await waitFor('the timeout', async () => (await health(api)).queue.waiting === 0);
  expect(await api.run(late)).toMatchObject({ queue: { position: 1, waiting_for: 'worker' } });
  expect(await api.approve(late, 'once')).toMatchObject({ status: 409 });
  model.open('busy');
  const { frames } = await endsAs(api, late, 'run.completed');
  expect(ofKind(frames, 'approval.responded')).toMatchObject([{ choice: 'deny', reason: 'timeout' }]);
  expect(existsSync(world.workspaceFile(late, 'ran-it'))).toBe(false);
});

/** All of them are answered while the server is dead or new, and none is lost. */
async function manyWait(count: number): Promise<void> {
  await using world = await ServerWithModel.startProcess({ TALARIA_MAX_QUEUED_RUNS: '100000' });
  const asked = await startAsking(world.api, count);
  await endsAs(world.api, await world.api.create(harmless()), 'run.completed');
  await approveAll(world.api, asked.slice(0, count / 2));
  await world.server.kill();
  await world.server.start();
  await approveAll(world.api, asked.slice(count / 2));
  for (const runId of asked) {
    const { frames } = await endsAs(world.api, runId, 'run.completed');
    expect(ofKind(frames, 'approval.responded')).toHaveLength(1);
    const [outcome] = ofKind(frames, 'tool.completed');
    // A call that the kill interrupted may or may not have run; then its outcome says so.
    expect(existsSync(world.workspaceFile(runId, 'ran-it')) || outcome!.error).toBe(true);
  }
}

test('200 runs wait, and all complete after a kill in between', { timeout: 240_000 }, () => manyWait(200));

test('1,000 runs wait, and all complete after a kill in between', { timeout: 900_000, tags: ['soak'] }, () =>
  manyWait(1_000),
);
