/**
 * A fork survives `kill -9` at every point: a request that got no answer makes one fork after a retry, the fork continues the
 * conversation that it has inherited, and makes no call of the other run again. It needs nothing of that run, which may be
 * evicted meanwhile.
 */
import { randomUUID } from 'node:crypto';
import type { RunCreated, SessionMessageList } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { type ModelServer, type Step, script, startModelServer } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import { newStore } from '../support/store.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer, type Moment } from './killable-server.ts';
import { marksOf } from './marked-run.ts';

const SLOW = { timeout: 180_000 };
const SESSION = 'garden';
const mark = (name: string) => ({ name: 'terminal', arguments: { command: `echo ${name} >> marks` } });

/** It breaks at the second step, once. In the middle of its text the model waits for the gate. */
const stepsWith = (gate: string): Step[] => [
  { text: 'First. ', tools: [mark('m1')] },
  {
    error: { status: 400, message: 'no' },
    times: 1,
    chunks: ['Sec', { gate }, 'ond. '],
    // Longer than deltas are collected, so that some text is recorded before its step.
    delayMs: 30,
    tools: [mark('m2')],
  },
  { text: 'Done.' },
];

/** One of the request, which is the third run here, and then one of the work on the fork. The soak tests have more of both. */
const MOMENTS: Moment[] = ['run.after-create@3', 'tool.after-effect'];
const MORE_MOMENTS: Moment[] = [
  'journal.before-commit',
  'journal.after-commit',
  'run.after-create',
  'run.after-claim',
  'run.before-terminal',
  'journal.before-commit@2',
  'step.before-model',
  'step.after-delta',
  'step.before-append',
  'step.after-append',
  'tool.before-intent',
  'tool.after-outcome',
  'run.after-terminal',
];

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

interface Source {
  prompt: string;
  runId: string;
  gate: string;
}

/** A run in a session that has an earlier turn. */
async function failedRun({ api }: KillableServer): Promise<Source> {
  await api.finish(await api.create(script([{ text: 'Hello.' }]), { session_id: SESSION }));
  const gate = randomUUID();
  const prompt = script(stepsWith(gate));
  const runId = await api.create(prompt, { session_id: SESSION });
  expect(await api.finish(runId)).toMatchObject({ event: 'run.failed' });
  return { prompt, runId, gate };
}

/** Asks for a fork like a careful client: with a key, again until there is an answer. */
function fork(server: KillableServer, runId: string): Promise<string> {
  return server.untilAnswered(async (api) => {
    const headers = { 'idempotency-key': 'the-only-fork' };
    const { status, body } = await api.post<RunCreated>(`/v1/runs/${runId}/fork`, {}, headers);
    expect(status).toBe(202);
    return body.run_id;
  });
}

/** The texts that the model got with its last request for this prompt, without the system prompt. */
function lastAsked(prompt: string): string[] {
  const id = /id=(\S+)/.exec(prompt)![1];
  const last = model.requests.findLast(({ scriptId }) => scriptId === id)!;
  return last.body.messages.slice(1).map(textOf);
}

async function expectWhole(server: KillableServer, source: Source, runId: string) {
  const { api } = server;
  expect(await api.run(runId)).toMatchObject({
    status: 'completed',
    output: 'Done.',
    forked_from: { run_id: source.runId },
  });
  const { data } = await api.list();
  expect(data.filter(({ forked_from }) => forked_from !== undefined).map((run) => run.run_id)).toEqual([
    runId,
  ]);

  expect(marksOf(server, source.runId)).toEqual(['m1']);
  expect(marksOf(server, runId).filter((name) => name === 'm2')).toEqual(['m2']);
  const told = lastAsked(source.prompt);
  for (const text of ['Hello.', 'First. ', 'Second. ']) {
    expect(
      told.filter((one) => one === text),
      text,
    ).toHaveLength(1);
  }
  const { body } = await api.get<SessionMessageList>(`/api/sessions/${runId}/messages`);
  const said = body.data.map(({ content }) => content);
  for (const text of ['Hello.', 'First. ', 'Second. ', 'Done.']) {
    expect(
      said.filter((one) => one === text),
      text,
    ).toHaveLength(1);
  }
}

/** The server dies at each of these moments in turn. */
async function survives(server: KillableServer, source: Source, moments: readonly Moment[]): Promise<void> {
  // For this moment the gate stays closed until the server is dead: a busy server could get all of the text at once, and would
  // never be at the moment after a part of it.
  if (!moments.includes('step.after-delta')) model.open(source.gate);
  const forking = fork(server, source.runId);
  for (const [i, moment] of moments.entries()) {
    await server.diesByItself(moment);
    model.open(source.gate);
    await server.start(moments[i + 1]);
  }
  const runId = await forking;
  await server.follow(runId);
  await expectWhole(server, source, runId);
}

describe('a fork', () => {
  test(
    `that the server dies of at ${MOMENTS.join(' and at ')} is there once, and complete`,
    SLOW,
    async () => {
      await using server = new KillableServer({ modelUrl: model.url });
      await server.start(MOMENTS[0]);
      await survives(server, await failedRun(server), MOMENTS);
    },
  );

  test.each(MORE_MOMENTS)(
    'that the server dies of at %s is there once, and complete',
    { ...SLOW, tags: ['soak'] },
    async (moment) => {
      await using server = new KillableServer({ modelUrl: model.url });
      await server.start();
      const source = await failedRun(server);
      await server.killAndStart(moment);
      await survives(server, source, [moment]);
    },
  );

  test('continues after a restart when the run that it comes from is gone', SLOW, async () => {
    const env = { ...(await newStore()), TALARIA_RUN_RETENTION_SECONDS: '0.1' };
    await using server = await HostedServer.start({ modelUrl: model.url, env });
    const api = new Api(server.url);
    const source = await api.create(script([{ text: 'First. ', tools: [mark('m1')] }, { gate: 'source' }]));
    await model.waitingAt('source');
    const prompt = script([{ gate: 'fork', text: 'Done.' }]);
    const { body } = await api.post<RunCreated>(`/v1/runs/${source}/fork`, { input: prompt });
    await model.waitingAt('fork');
    await api.stop(source);
    await waitFor(
      'the other run to be evicted',
      async () => (await api.get(`/v1/runs/${source}`)).status === 404,
    );
    // The fork itself is to be kept.
    await server.restart({ TALARIA_RUN_RETENTION_SECONDS: '3600' });
    model.open('fork');
    const end = await new Api(server.url).finish(body.run_id);
    expect(end).toMatchObject({ event: 'run.completed', output: 'Done.' });
    expect(lastAsked(prompt)).toContain('First. ');
  });
});
