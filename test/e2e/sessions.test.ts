/** The life of sessions: they outlive runs and restarts, are cut to fit the model, and are deleted when unused. */
import type { Session, SessionMessageList } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { type RecordedRequest, script } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import { postStream } from '../support/posted-stream.ts';
import { waitFor } from '../support/wait-for.ts';
import { describeRestart } from './one-restart.ts';
import { endsAs, ServerWithModel, terminal, waitForApproval } from './server-with-model.ts';

async function say(api: Api, session_id: string, input: string): Promise<string> {
  const runId = await api.create(input, { session_id });
  await endsAs(api, runId, 'run.completed');
  return runId;
}

/** What the model got each time it played the script in `prompt`, without the system prompt. */
function given(world: Pick<ServerWithModel, 'model'>, prompt: string): string[][] {
  const id = /id=(\S+)/.exec(prompt)?.[1];
  return world.model.requests.filter(({ scriptId }) => scriptId === id).map(textsOf);
}

function textsOf({ body }: RecordedRequest): string[] {
  return body.messages.slice(1).map(textOf);
}

async function transcript(api: Api, sessionId: string): Promise<unknown[]> {
  const path = `/api/sessions/${sessionId}/messages?limit=200`;
  return (await api.get<SessionMessageList>(path)).body.data.map(({ content }) => content);
}

test('a conversation continues over a restart, and when its runs are long gone', async () => {
  await using world = await ServerWithModel.start({ TALARIA_RUN_RETENTION_SECONDS: '0' });
  const words = ['one', 'two', 'three'];
  const prompts = words.map((text) => script([{ text }]));
  for (const [i, prompt] of prompts.entries()) {
    const runId = await say(world.api, 'talk', prompt);
    await waitFor(
      'the run to be gone',
      async () => (await world.api.get(`/v1/runs/${runId}`)).status === 404,
    );
    if (i % 2 === 1) await world.server.restart();
  }
  const said = words.flatMap((text, i) => [prompts[i]!, text]);
  expect(given(world, prompts[2]!)).toEqual([said.slice(0, -1)]);
  expect(await transcript(world.api, 'talk')).toEqual(said);
});

/** Room for the tools and the system prompt, which take about 4000, and some turns of 1000. */
const CONTEXT_TOKENS = 12_000;
const LONG = 'word '.repeat(800);
const SMALL_CONTEXT = { TALARIA_CONTEXT_TOKENS: String(CONTEXT_TOKENS) };

const longTurn = (text: string) => `${LONG}\n${script([{ text }])}`;

describeRestart('after a kill', { env: SMALL_CONTEXT }, (test) => {
  test('a conversation that is too long is cut in the same way by the next owner of the run', async (world) => {
    for (let i = 0; i < 9; i++) await say(world.api, 'killed', longTurn(`answer ${i}`));
    const prompt = `${LONG}\n${script([{ tools: [terminal('true')] }, { gate: 'killed', text: 'done' }])}`;
    const runId = await world.api.create(prompt, { session_id: 'killed' });
    await world.model.waitingAt('killed');
    const { omitted_messages } = await world.api.run(runId);
    expect(omitted_messages).toBeGreaterThan(0);
    await world.restart(async () => world.model.open('killed'));
    await endsAs(world.api, runId, 'run.completed');
    const [first, second, again, ...rest] = given(world, prompt);
    expect(rest).toEqual([]);
    expect(again).toEqual(second);
    expect(second!.slice(0, first!.length)).toEqual(first);
    expect((await world.api.run(runId)).omitted_messages).toBe(omitted_messages);
  });

  test('the turn that it interrupted is in the transcript once, with its tools', async (world) => {
    const first = script([{ tools: [terminal('echo hello')] }, { gate: 'cut', text: 'done' }]);
    const runId = await world.api.create(first, { session_id: 'talk' });
    await world.model.waitingAt('cut');
    await world.restart(async () => world.model.open('cut'));
    await endsAs(world.api, runId, 'run.completed');
    const { body } = await world.api.get<SessionMessageList>('/api/sessions/talk/messages');
    expect(body.data.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  test("a chat that is repeated gets the same run, with its session's prompt", async (world) => {
    const { model } = world;
    const id = 'told-again';
    await world.api.post('/api/sessions', { id, title: 'Kept', system_prompt: 'The rules of the house.' });
    const message = script([{ chunks: ['one ', { gate: 'told-again' }, 'two'] }]);
    const path = `/api/sessions/${id}/chat/stream`;
    const headers = { 'idempotency-key': 'told-again' };
    const isDelta = ({ event }: { event: string }) => event === 'assistant.delta';
    const cut = await postStream(world.api, path, { message }, { headers, until: isDelta });
    const { run_id } = JSON.parse(cut.frames[0]!.data) as { run_id: string };
    await world.restart();
    model.open('told-again');

    const again = await postStream(world.api, path, { message }, { headers });
    const events = again.frames.map(({ event, data }) => ({ event, ...JSON.parse(data) }));
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(events[0]).toMatchObject({ event: 'run.started', run_id });
    expect(events.find(({ event }) => event === 'assistant.completed')).toMatchObject({ content: 'one two' });
    expect(events.at(-1)).toMatchObject({ event: 'done' });
    const { body } = await world.api.get<Session>(`/api/sessions/${id}`);
    expect(body).toMatchObject({ title: 'Kept', turns: 1, has_system_prompt: true });
    const asked = await model.waitForRequest((request) =>
      JSON.stringify(request.body).includes('told-again'),
    );
    expect(JSON.stringify(asked.body.messages[0])).toContain('The rules of the house.');
  });
});

describe('a conversation that is too long for the model', () => {
  let world: ServerWithModel;
  beforeAll(async () => {
    world = await ServerWithModel.start(SMALL_CONTEXT);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** One line that counts the missing messages replaces the beginning of the conversation. */
  function expectCut(sent: string[], whole: string[], omitted: number): void {
    expect(sent).toEqual([
      `[${omitted} earlier messages were left out here: the conversation is longer than the model's context.]`,
      ...whole.slice(omitted),
    ]);
  }

  test('loses its oldest messages, counts them in the run, and stays in the transcript', async () => {
    const said: string[] = [];
    let omitted = 0;
    for (let i = 0; i < 12; i++) {
      const prompt = longTurn(`answer ${i}`);
      const run = await world.api.run(await say(world.api, 'long', prompt));
      const [sent] = given(world, prompt);
      if (run.omitted_messages === undefined) expect(sent).toEqual([...said, prompt]);
      else {
        omitted = run.omitted_messages;
        expectCut(sent!, [...said, prompt], omitted);
      }
      said.push(prompt, `answer ${i}`);
    }
    expect(omitted).toBeGreaterThan(0);
    expect(await transcript(world.api, 'long')).toEqual(said);
  });

  test('is halved when the provider refuses it, until it is accepted', async () => {
    const said: string[] = [];
    for (let i = 0; i < 4; i++) {
      const prompt = longTurn(`answer ${i}`);
      await say(world.api, 'refused', prompt);
      said.push(prompt, `answer ${i}`);
    }
    const error = { status: 400, code: 'context_length_exceeded', message: 'too long' };
    const prompt = script([{ error, times: 2, text: 'taken' }]);
    const runId = await say(world.api, 'refused', prompt);
    const whole = [...said, prompt];
    const sent = given(world, prompt);
    expect(sent).toHaveLength(3);
    expect(sent[0]).toEqual(whole);
    expectCut(sent[1]!, whole, 5);
    expectCut(sent[2]!, whole, 7);
    expect((await world.api.run(runId)).omitted_messages).toBe(7);
    // The next turn begins with everything again: another model may accept what was refused once.
    const next = script([{ text: 'next' }]);
    await say(world.api, 'refused', next);
    expect(given(world, next)).toEqual([[...whole, 'taken', next]]);
  });

  test('fails the run when nothing more can be left out', async () => {
    const error = { status: 400, code: 'context_length_exceeded', message: 'too long' };
    await say(world.api, 'hopeless', longTurn('one'));
    const runId = await world.api.create(script([{ error }]), { session_id: 'hopeless' });
    expect(await endsAs(world.api, runId, 'run.failed')).toMatchObject({ error_code: 'context_overflow' });
    expect(await transcript(world.api, 'hopeless')).toHaveLength(2);
  });
});

test('an unused session is deleted, with its grants; one in use stays', async () => {
  await using world = await ServerWithModel.start({ TALARIA_SESSION_RETENTION_SECONDS: '2' });
  const { api } = world;
  const gated = () => script([{ tools: [terminal('rm -rf build')] }, { text: 'done' }]);
  const first = await api.create(gated(), { session_id: 'idle' });
  await waitForApproval(api, first);
  await api.approve(first, 'session');
  await endsAs(api, first, 'run.completed');
  const busy = await api.create(script([{ gate: 'busy', text: 'done' }]), { session_id: 'busy' });
  expect((await api.get<Session>('/api/sessions/idle')).body.turns).toBe(1);

  await waitFor('the session to be gone', async () => (await api.get('/api/sessions/idle')).status === 404);
  expect((await api.get('/api/sessions/busy')).status).toBe(200);
  const again = await api.create(gated(), { session_id: 'idle' });
  await waitForApproval(api, again);
  world.model.open('busy');
  await endsAs(api, busy, 'run.completed');
});
