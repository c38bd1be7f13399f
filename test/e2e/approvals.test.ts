/**
 * An answer releases the command that the person saw and no other, and a run without anybody to ask has a defined end.
 */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import type { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  endsAs,
  names,
  ofKind,
  ServerWithModel,
  terminal,
  waitForApproval,
  waitForStatus,
} from './server-with-model.ts';

/** Asks before it runs, and leaves a trace when it does. */
const gated = (name: string) => terminal(`rm -rf build; touch ran-${name}`);

let world: ServerWithModel;
let api: Api;

function ran(runId: string, name: string): boolean {
  return existsSync(world.workspaceFile(runId, `ran-${name}`));
}

describe('with a person to ask', () => {
  let restartable: ServerWithModel<HostedServer>;
  beforeAll(async () => {
    restartable = await ServerWithModel.start();
    world = restartable;
    api = world.api;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('two gated calls ask one after the other, and each answer releases its own call at once', async () => {
    const runId = await api.create(script([{ tools: [gated('one'), gated('two')] }, { text: 'done' }]));
    const first = await waitForApproval(api, runId);
    expect(first.command).toBe('rm -rf build; touch ran-one');
    expect(ran(runId, 'one') || ran(runId, 'two')).toBe(false);

    expect(await api.approve(runId, 'once', { request_id: first.request_id })).toMatchObject({
      status: 200,
      body: { choice: 'once', resolved: 1, request_id: first.request_id },
    });
    const second = await waitForApproval(api, runId, first.request_id);
    expect(second.command).toBe('rm -rf build; touch ran-two');
    await waitFor('the first command to run', () => ran(runId, 'one'));
    expect(ran(runId, 'two')).toBe(false);
    expect((await api.run(runId)).status).toBe('waiting_for_approval');

    const stale = await api.approve(runId, 'once', { request_id: first.request_id });
    expect(stale).toMatchObject({ status: 409, body: { error: { code: 'approval_not_pending' } } });
    expect((await api.run(runId)).approval?.request_id).toBe(second.request_id);

    await api.approve(runId, 'deny');
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(ran(runId, 'two')).toBe(false);
    expect(ofKind(frames, 'approval.request').map(({ request_id }) => request_id)).toEqual([
      first.request_id,
      second.request_id,
    ]);
    // The refusal may be recorded before the approved command has ended.
    const outcomes = ofKind(frames, 'tool.completed').toSorted((a, b) => Number(a.error) - Number(b.error));
    expect(outcomes).toMatchObject([
      { error: false, preview: '' },
      { error: true, preview: expect.stringContaining('refused') },
    ]);
  });

  test('of two answers to one question exactly one is accepted', async () => {
    const runId = await api.create(script([{ tools: [gated('x')] }, { text: 'done' }]));
    await waitForApproval(api, runId);
    const answers = await Promise.all(['once', 'deny', 'once'].map((choice) => api.approve(runId, choice)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const { frames } = await endsAs(api, runId, 'run.completed');
    const responded = ofKind(frames, 'approval.responded');
    expect(responded).toHaveLength(1);
    expect(ran(runId, 'x')).toBe(responded[0]!.choice === 'once');
  });

  test('a denial with a message tells the model and everyone who watches why, with secrets masked', async () => {
    const prompt = script([{ tools: [gated('x')] }, { text: 'done' }]);
    const runId = await api.create(prompt);
    await waitForApproval(api, runId);
    const message = 'keep it: the release needs it; the token is ghp_0123456789abcdefghijABCDEFGHIJ012345';
    expect(await api.approve(runId, 'once', { message })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_approval_request', param: 'message' } },
    });
    expect((await api.approve(runId, 'deny', { message })).status).toBe(200);
    const { frames } = await endsAs(api, runId, 'run.completed');
    const [responded] = ofKind(frames, 'approval.responded');
    expect(responded).toMatchObject({
      choice: 'deny',
      answered_by: 'local',
      message: expect.stringContaining('keep it: the release needs it'),
    });
    const last = world.model.requests.findLast(({ scriptId }) => prompt.includes(`id=${scriptId} `));
    const result = last!.body.messages.at(-1);
    expect(result).toMatchObject({ role: 'tool', content: expect.stringContaining('keep it: the release') });
    expect(JSON.stringify([frames, result])).not.toContain('ghp_0123456789');
    expect(ran(runId, 'x')).toBe(false);
  });

  test('`all` also answers the ones that wait behind it', async () => {
    const calls = [gated('a'), gated('b'), gated('c')];
    const runId = await api.create(script([{ tools: calls }, { text: 'done' }]));
    await waitForApproval(api, runId);
    const answer = await api.approve(runId, 'once', { all: true });
    expect(answer.body).toMatchObject({ choice: 'once', resolved: 3 });
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(ofKind(frames, 'approval.request')).toHaveLength(1);
    expect(ofKind(frames, 'tool.completed').map(({ error }) => error)).toEqual([false, false, false]);
    expect(['a', 'b', 'c'].every((name) => ran(runId, name))).toBe(true);
  });

  test('`all` with a refusal refuses them all, and the run continues', async () => {
    const runId = await api.create(script([{ tools: [gated('a'), gated('b')] }, { text: 'as you wish' }]));
    await waitForApproval(api, runId);
    expect((await api.approve(runId, 'deny', { resolve_all: true })).body.resolved).toBe(2);
    const { frames, output } = await endsAs(api, runId, 'run.completed');
    expect(output).toBe('as you wish');
    expect(ofKind(frames, 'tool.completed').map(({ error }) => error)).toEqual([true, true]);
    expect(ran(runId, 'a') || ran(runId, 'b')).toBe(false);
  });

  test('`session` lets the waiting ones and later runs of the session pass, and no other session', async () => {
    const session = { session_id: 'granting' };
    const runId = await api.create(
      script([{ tools: [gated('a'), gated('b')] }, { tools: [gated('c')] }, { text: 'done' }]),
      session,
    );
    await waitForApproval(api, runId);
    expect((await api.approve(runId, 'session')).body.resolved).toBe(1);
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(ofKind(frames, 'approval.request')).toHaveLength(1);
    expect(['a', 'b', 'c'].every((name) => ran(runId, name))).toBe(true);

    const later = await api.create(script([{ tools: [gated('d')] }, { text: 'done' }]), session);
    expect(names((await endsAs(api, later, 'run.completed')).frames)).not.toContain('approval.request');
    expect(ran(later, 'd')).toBe(true);

    const other = await api.create(script([{ tools: [gated('e')] }, { text: 'done' }]), {
      session_id: 'another',
    });
    await waitForApproval(api, other);
    await api.approve(other, 'deny');
    await endsAs(api, other, 'run.completed');
  });

  test('calls that need no approval run while a question is open', async () => {
    const runId = await api.create(
      script([{ tools: [gated('gated'), terminal('touch ran-free')] }, { text: 'done' }]),
    );
    await waitForApproval(api, runId);
    const { frames } = await api.stream(runId, { until: ({ event }) => event.event === 'tool.completed' });
    expect(ofKind(frames, 'tool.completed')[0]).toMatchObject({ tool: 'terminal', error: false });
    expect(ran(runId, 'free')).toBe(true);
    expect(ran(runId, 'gated')).toBe(false);
    expect((await api.run(runId)).status).toBe('waiting_for_approval');
    await api.approve(runId, 'once');
    await endsAs(api, runId, 'run.completed');
    expect(ran(runId, 'gated')).toBe(true);
  });

  test('a command that never runs is refused without a question', async () => {
    const runId = await api.create(script([{ tools: [terminal('rm -rf /')] }, { text: 'I see' }]));
    const { frames, output } = await endsAs(api, runId, 'run.completed');
    expect(output).toBe('I see');
    expect(names(frames)).not.toContain('approval.request');
    expect(ofKind(frames, 'tool.completed')[0]).toMatchObject({
      error: true,
      preview: expect.stringContaining('never run'),
    });
  });

  // Last, because it lets that pattern pass for everything after it.
  test('`always` lets every later run pass, also after a restart', async () => {
    const runId = await api.create(script([{ tools: [gated('a')] }, { text: 'done' }]));
    await waitForApproval(api, runId);
    await api.approve(runId, 'always');
    await endsAs(api, runId, 'run.completed');

    const passes = async (name: string) => {
      const later = await api.create(script([{ tools: [gated(name)] }, { text: 'done' }]));
      expect(names((await endsAs(api, later, 'run.completed')).frames)).not.toContain('approval.request');
      expect(ran(later, name)).toBe(true);
    };
    await passes('b');
    await restartable.server.restart();
    api = world.api;
    await passes('c');
  });
});

describe('with nobody to ask', () => {
  beforeAll(async () => {
    world = await ServerWithModel.start({ TALARIA_APPROVAL_TIMEOUT_SECONDS: '1' });
    api = world.api;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('the question counts as denied after its timeout, the model is told so, and the run completes', async () => {
    const prompt = script([{ tools: [gated('x')] }, { text: 'without it' }]);
    const runId = await api.create(prompt);
    // No stream is open while it waits.
    await waitForStatus(api, runId, 'completed');
    const { frames, output } = await endsAs(api, runId, 'run.completed');
    expect(output).toBe('without it');
    expect(ran(runId, 'x')).toBe(false);
    const [request] = ofKind(frames, 'approval.request');
    const [responded] = ofKind(frames, 'approval.responded');
    expect(responded).toMatchObject({
      choice: 'deny',
      resolved: 1,
      reason: 'timeout',
      request_id: request!.request_id,
    });
    expect(request!.expires_at).toBeCloseTo(request!.timestamp + 1, 0);
    expect(responded!.timestamp).toBeGreaterThanOrEqual(request!.expires_at - 0.05);
    expect(ofKind(frames, 'tool.completed')[0]).toMatchObject({ error: true });
    const last = world.model.requests.findLast(({ scriptId }) => prompt.includes(`id=${scriptId} `));
    const result = last!.body.messages.at(-1);
    expect(result).toMatchObject({ role: 'tool', content: expect.stringContaining('nobody approved it') });
  });

  test('each question has its own timeout; a late answer releases nothing', async () => {
    const runId = await api.create(script([{ tools: [gated('x'), gated('y')] }, { text: 'done' }]));
    const first = await waitForApproval(api, runId);
    const second = await waitForApproval(api, runId, first.request_id);
    expect(second.expires_at).toBeGreaterThan(first.expires_at);
    const late = await api.approve(runId, 'once', { request_id: first.request_id });
    expect(late).toMatchObject({ status: 409, body: { error: { code: 'approval_not_pending' } } });
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(ofKind(frames, 'approval.responded').map(({ reason }) => reason)).toEqual(['timeout', 'timeout']);
    expect(ran(runId, 'x') || ran(runId, 'y')).toBe(false);
  });
});

describe('with rules of the operator', () => {
  beforeAll(async () => {
    world = await ServerWithModel.start({
      TALARIA_APPROVALS_ALLOW: 'rm -rf build',
      TALARIA_APPROVALS_ASK: 'touch asked-*',
      TALARIA_APPROVALS_DENY: 'touch denied **',
    });
    api = world.api;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('an allowed command runs, a denied one is refused, one that asks names its rule', async () => {
    const runId = await api.create(
      script([
        { tools: [gated('allowed'), terminal('env A=1 touch denied'), terminal('touch asked-x')] },
        { text: 'done' },
      ]),
    );
    const approval = await waitForApproval(api, runId);
    expect(approval).toMatchObject({ command: 'touch asked-x', pattern_key: 'rule: touch asked-*' });
    await api.approve(runId, 'once', { request_id: approval.request_id });
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(ran(runId, 'allowed')).toBe(true);
    const refused = ofKind(frames, 'tool.completed').filter(({ error }) => error);
    expect(refused).toMatchObject([{ preview: expect.stringContaining("'touch denied **' denies it") }]);
    expect(ofKind(frames, 'approval.request')).toHaveLength(1);
  });
});
