/** `POST /v1/runs/{id}/fork` (PROTOCOL.md). */
import type { RunCreated, RunEvent, Session, SessionMessageList } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { type ChatRequest, type Step, script } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import { waitFor } from '../support/wait-for.ts';
import { expectError } from './checked-api.ts';
import {
  apiOf,
  commands,
  GATED,
  type GetTarget,
  HeldRun,
  MISSING_RUN,
  say,
  terminal,
  uniqueName,
  WaitingRun,
  waitForStatus,
} from './target.ts';

const NOTICE = /^\[From here on this is a fork of the run/;

export function describeFork(target: GetTarget): void {
  const api = () => apiOf(target());
  const ask = (runId: string, body?: unknown, headers: Record<string, string> = {}) =>
    api().post<RunCreated>(`/v1/runs/${runId}/fork`, body, headers);

  async function fork(runId: string, body?: unknown): Promise<string> {
    const { status, body: created } = await ask(runId, body);
    expect({ ...created, answer: status }).toMatchObject({ answer: 202, replayed: false });
    return created.run_id;
  }

  async function events(runId: string): Promise<RunEvent[]> {
    return (await api().stream(runId)).frames.map(({ event }) => event);
  }

  /** A finished run, its events, and the seq of the last event of this name. */
  async function finished(steps: Step[], fields = {}) {
    const prompt = script(steps);
    const runId = await api().create(prompt, fields);
    const all = await events(runId);
    const seqOf = (name: string) => all.findLast(({ event }) => event === name)!.seq;
    return { prompt, runId, events: all, seqOf };
  }

  /** What the model was asked in this run, request by request: everything after the system prompt, as [role, text]. */
  function asked(prompt: string): [string, string][][] {
    const id = /SCRIPT id=(\S+)/.exec(prompt)?.[1];
    return target()
      .model.requests.filter(({ scriptId }) => scriptId === id)
      .map(({ body }) => conversation(body));
  }

  const TWO_STEPS: Step[] = [
    { text: 'first', tools: [terminal('echo 1')] },
    { text: 'second', tools: [terminal('echo 2'), terminal('echo 3')] },
    { text: 'done' },
  ];

  describe('a fork', () => {
    it('continues the conversation from its event, as a new run that says where it comes from', async () => {
      const source = await finished(TWO_STEPS);
      const at = source.events.find(({ event }) => event === 'tool.completed')!.seq;
      const before = [await api().run(source.runId), source.events];
      const answer = await ask(source.runId, { at });
      expect(answer).toMatchObject({ status: 202, body: { status: 'started', replayed: false } });
      const { run_id: runId } = answer.body;
      expect(await api().finish(runId)).toMatchObject({ event: 'run.completed', output: 'done' });

      const forked_from = { run_id: source.runId, seq: at };
      const run = await api().run(runId);
      expect(run).toMatchObject({ forked_from, session_id: runId, steps: 2 });
      expect(run.input).toBe((before[0] as typeof run).input);
      const { data } = await api().list(`?session_id=${runId}&view=head`);
      expect(data).toMatchObject([{ run_id: runId, forked_from }]);

      const [, second, third, again] = asked(source.prompt);
      expect(third).toHaveLength(second!.length + 3);
      expect(again!.slice(0, -1)).toEqual(second);
      expect(again!.at(-1)![1]).toMatch(NOTICE);
      expect([await api().run(source.runId), await events(source.runId)], 'the other is untouched').toEqual(
        before,
      );
      expect(before[0]).not.toHaveProperty('forked_from');
    });

    it('has a step only if all its calls had outcomes', async () => {
      const source = await finished(TWO_STEPS);
      const completed = source.events.filter(({ event }) => event === 'tool.completed').map(({ seq }) => seq);
      for (const at of [completed[0]!, completed[2]! - 1]) {
        await api().finish(await fork(source.runId, { at }));
        expect(roles(asked(source.prompt).at(-2)!)).toEqual(['user', 'assistant', 'tool', 'user']);
      }
      await api().finish(await fork(source.runId, { at: completed[2] }));
      expect(roles(asked(source.prompt).at(-1)!)).toEqual([
        ...['user', 'assistant', 'tool', 'assistant', 'tool', 'tool'],
        'user',
      ]);
    });

    it('before the first step has just the prompt', async () => {
      const source = await finished([{ text: 'first try' }]);
      const runId = await fork(source.runId, { at: 0 });
      expect(await api().finish(runId)).toMatchObject({ output: 'first try' });
      const [first, second] = asked(source.prompt);
      expect(second).toEqual(first);
    });

    it('of a failed run tries again from before it broke', async () => {
      const error = { status: 400, message: 'no' };
      const source = await finished([{ tools: [terminal('echo 1')] }, { error, times: 1, text: 'mended' }]);
      expect(source.events.at(-1)).toMatchObject({ event: 'run.failed' });
      const runId = await fork(source.runId);
      expect(await api().finish(runId)).toMatchObject({ event: 'run.completed', output: 'mended' });
      expect((await api().run(runId)).forked_from).toEqual({
        run_id: source.runId,
        seq: source.events.at(-1)!.seq,
      });
      expect((await api().run(source.runId)).status).toBe('failed');
    });

    it('of a cancelled run repeats none of its pending calls', async () => {
      const prompt = script([
        { tools: [terminal('echo 1')] },
        { tools: [terminal(GATED)] },
        { text: 'done' },
      ]);
      const runId = await api().create(prompt);
      await waitForStatus(api(), runId, 'waiting_for_approval');
      await api().stop(runId);
      await api().finish(runId);
      const again = await fork(runId, { input: say('something else') });
      expect(await api().finish(again)).toMatchObject({ output: 'something else' });
      const names = (await events(again)).map(({ event }) => event);
      expect(names).not.toContain('tool.started');
      expect(names).not.toContain('approval.request');
    });

    it('of a running run is independent of it', async () => {
      await using waiting = await WaitingRun.start(target(), commands(GATED));
      const runId = await fork(waiting.runId);
      const { approval } = await waitForStatus(api(), runId, 'waiting_for_approval');
      expect(approval!.request_id).not.toBe(waiting.approval.request_id);
      expect((await api().approve(runId, 'deny')).status).toBe(200);
      await api().finish(runId);
      expect((await api().run(waiting.runId)).approval).toEqual(waiting.approval);
    });

    it('of a fork has everything that was said, once', async () => {
      const source = await finished([{ text: 'one' }]);
      const first = await fork(source.runId, { input: say('two') });
      await api().finish(first);
      const prompt = say('three');
      const second = await fork(first, { input: prompt });
      expect(await api().finish(second)).toMatchObject({ output: 'three' });
      const texts = asked(prompt)[0]!.map(([, text]) => text);
      expect(texts.filter((text) => !text.startsWith('SCRIPT'))).toEqual(['one', 'two']);
      expect(texts).toHaveLength(5);
      expect((await api().run(second)).forked_from?.run_id).toBe(first);
    });
  });

  describe('the input of a fork', () => {
    it('is the next message after an answer, and required there', async () => {
      const source = await finished([{ text: 'the answer' }]);
      for (const at of [undefined, null, source.seqOf('step.completed'), source.seqOf('run.completed')]) {
        expectError(await ask(source.runId, { at }), {
          status: 400,
          code: 'missing_input',
          param: 'input',
          message: /ends with the model's answer/,
        });
      }
      const prompt = say('the next answer');
      const runId = await fork(source.runId, { input: prompt });
      expect(await api().finish(runId)).toMatchObject({ output: 'the next answer' });
      expect(asked(prompt)[0]).toEqual([
        ['user', source.prompt],
        ['assistant', 'the answer'],
        ['user', prompt],
      ]);
      expect((await api().run(runId)).input).toBe(prompt);
    });

    it('follows the results of the last step, like steering', async () => {
      const source = await finished(TWO_STEPS);
      const at = source.seqOf('tool.completed');
      const runId = await fork(source.runId, { at, input: 'Mind the gap.' });
      expect(await api().finish(runId)).toMatchObject({ output: 'done' });
      const last = asked(source.prompt).at(-1)!;
      expect(last.at(-1)).toEqual(['user', 'Mind the gap.']);
      expect(last.at(-2)![1]).toMatch(NOTICE);
    });

    it('is not needed for another try at an answer that the run failed with, but can follow it', async () => {
      const source = await finished([{ text: 'half an ans', finish: 'length' }]);
      expect(source.events.at(-1)).toMatchObject({ event: 'run.failed', error_code: 'output_truncated' });
      await api().finish(await fork(source.runId));
      expect(asked(source.prompt).at(-1)).toEqual([['user', source.prompt]]);
      const prompt = say('wer');
      await api().finish(await fork(source.runId, { input: prompt }));
      expect(asked(prompt)[0]!.slice(1)).toEqual([
        ['assistant', 'half an ans'],
        ['user', prompt],
      ]);
    });

    it('may be a single message, with files for the workspace', async () => {
      const source = await finished([{ text: 'ready' }]);
      const file = { filename: 'data.txt', file_data: Buffer.from('from the fork').toString('base64') };
      const content = [
        { type: 'text', text: commands('cat data.txt') },
        { type: 'file', file },
      ];
      const runId = await fork(source.runId, { input: [{ role: 'user', content }] });
      const all = await events(runId);
      expect(all.find(({ event }) => event === 'tool.completed')).toMatchObject({ preview: 'from the fork' });
      expect(all.at(-1)).toMatchObject({ event: 'run.completed' });
    });

    it.each([
      ['blank', ' ', 'no_user_message'],
      ['a number', 5, 'invalid_request'],
      ['an object', {}, 'invalid_request'],
      [
        'several messages',
        [
          { role: 'user', content: 'a' },
          { role: 'user', content: 'b' },
        ],
        'invalid_request',
      ],
      ['a message without content', [{ role: 'user' }], 'invalid_history'],
    ])('that is %s is 400', async (_, input, code) => {
      const { runId } = await finished([{ text: 'answer' }]);
      expectError(await ask(runId, { input }), { status: 400, code });
    });
  });

  describe('the event of a fork', () => {
    it.each([-1, 1.5, '0', true, [], {}, 1e300])('cannot be %j', async (at) => {
      const { runId } = await finished([{ text: 'answer' }]);
      expectError(await ask(runId, { at }), { status: 400, code: 'invalid_cursor', param: 'at' });
    });

    it('must have happened', async () => {
      const { runId, events: all } = await finished([{ text: 'answer' }]);
      const at = all.at(-1)!.seq + 1;
      expectError(await ask(runId, { at, input: 'x' }), { status: 400, code: 'invalid_cursor', param: 'at' });
    });

    it('is none for a run that has not begun: the fork begins with its prompt', async () => {
      const session_id = uniqueName('session');
      await using first = await HeldRun.start(target(), [{ text: 'first' }], { session_id });
      const waiting = await api().create(say('waiting'), { session_id });
      expectError(await ask(waiting, { at: 0 }), { status: 400, code: 'invalid_cursor' });
      const runId = await fork(waiting);
      expect(await api().finish(runId)).toMatchObject({ output: 'waiting' });
      expect((await api().run(runId)).forked_from).toEqual({ run_id: waiting, seq: null });
      first.release();
      await api().finish(waiting);
    });
  });

  describe('a request for a fork', () => {
    it('needs no body, and ignores fields that it does not know', async () => {
      const source = await finished([{ error: { status: 400, message: 'no' }, times: 1, text: 'better' }]);
      expect(await api().finish(await fork(source.runId))).toMatchObject({ output: 'better' });
      const named = await fork(source.runId, {
        agent: 'reviewer',
        at: null,
        input: null,
        instructions: null,
      });
      expect(await api().finish(named)).toMatchObject({ output: 'better' });
    });

    it('for an unknown run is 404, before the body is checked', async () => {
      expectError(await ask(MISSING_RUN, { at: -1 }), { status: 404, code: 'run_not_found' });
    });

    it('that is not JSON, or has a bad key, is 400', async () => {
      const { runId } = await finished([{ text: 'answer' }]);
      const path = `/v1/runs/${runId}/fork`;
      expectError(await api().request('POST', path, { raw: 'not json' }), {
        status: 400,
        code: 'invalid_json',
      });
      expectError(await ask(runId, []), { status: 400, code: 'body_not_object' });
      expectError(await ask(runId, { at: -1 }, { 'idempotency-key': 'a b' }), {
        status: 400,
        code: 'invalid_idempotency_key',
      });
    });

    it('with an idempotency key makes one fork of one run', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      const [source, other] = [await finished([{ text: 'one' }]), await finished([{ text: 'other' }])];
      const body = { input: say('two') };
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(source.runId, body, headers)));
      const runIds = new Set(answers.map((answer) => answer.body.run_id));
      expect(runIds.size).toBe(1);
      expect(answers.filter((answer) => !answer.body.replayed)).toHaveLength(1);
      await api().finish([...runIds][0]!);
      const replay = await ask(source.runId, body, headers);
      expect(replay).toMatchObject({ status: 202, body: { status: 'completed', replayed: true } });
      expect(replay.headers.get('idempotency-replayed')).toBe('true');
      const conflict = { status: 409, code: 'idempotency_key_conflict' };
      expectError(await ask(source.runId, { ...body, at: 0 }, headers), conflict);
      expectError(await ask(other.runId, body, headers), conflict);
    });

    it('is replayed even when the run could no longer be forked like this', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      await using held = await HeldRun.start(target(), [{ text: 'released' }]);
      const first = await ask(held.runId, {}, headers);
      expect(first.status).toBe(202);
      held.release();
      await api().finish(held.runId);
      expectError(await ask(held.runId, {}), { status: 400, code: 'missing_input' });
      expect(await ask(held.runId, {}, headers)).toMatchObject({
        status: 202,
        body: { run_id: first.body.run_id, replayed: true },
      });
    });
  });

  describe('a fork works on the terms of the run', () => {
    const lookup = { type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } };

    it('with its instructions, or with others', async () => {
      const source = await finished([{ text: 'one' }], { instructions: 'Speak Esperanto.' });
      const systemOf = async (fields: object) => {
        const prompt = say('two');
        await api().finish(await fork(source.runId, { input: prompt, ...fields }));
        const id = /SCRIPT id=(\S+)/.exec(prompt)?.[1];
        const request = target().model.requests.find(({ scriptId }) => scriptId === id)!;
        return textOf(request.body.messages[0]!);
      };
      expect(await systemOf({})).toContain('Speak Esperanto.');
      const other = await systemOf({ instructions: 'Speak Volapük.' });
      expect(other).toContain('Speak Volapük.');
      expect(other).not.toContain('Esperanto');
    });

    it('with its client tools, but not with calls that wait', async () => {
      const prompt = script([{ tools: [{ name: 'lookup', arguments: {} }] }, { text: 'found' }]);
      const runId = await api().create(prompt, { tools: [lookup], tool_choice: 'required' });
      await waitForStatus(api(), runId, 'waiting_for_tool');
      const forked = await fork(runId);
      const calls = await waitFor('the fork to wait for its client', async () => {
        const run = await api().run(forked);
        return run.last_event === 'run.waiting' && run.pending_calls;
      });
      const outputs = calls.map(({ tool_call_id }) => ({ tool_call_id, output: 'here' }));
      await api().post(`/v1/runs/${forked}/tool_outputs`, { outputs });
      expect(await api().finish(forked)).toMatchObject({ output: 'found' });
      expect((await api().run(runId)).status).toBe('waiting_for_tool');
      await api().stop(runId);
    });

    it('with its output schema', async () => {
      const output_schema = { type: 'object', required: ['n'], properties: { n: { type: 'number' } } };
      const source = await finished([{ text: '{"n": 1}' }], { output_schema });
      const runId = await fork(source.runId, { input: script([{ text: 'two' }, { text: '{"n": 2}' }]) });
      expect(await api().finish(runId)).toMatchObject({ output_parsed: { n: 2 } });
    });

    it('with its plan', async () => {
      const todos = [{ id: '1', content: 'Read the test', status: 'pending' }];
      const source = await finished([
        { tools: [{ name: 'todo', arguments: { todos } }] },
        { text: 'planned' },
      ]);
      const input = script([{ tools: [{ name: 'todo', arguments: {} }] }, { text: 'seen' }]);
      const all = await events(await fork(source.runId, { input }));
      const shown = all.find(({ event }) => event === 'tool.completed');
      expect(shown).toMatchObject({ preview: expect.stringContaining('Read the test') });
    });

    it('with the steering that the run has had', async () => {
      const gate = uniqueName('steered');
      const prompt = script([{ gate, tools: [terminal('echo 1')] }, { text: 'done' }]);
      const runId = await api().create(prompt);
      await target().model.waitingAt(gate);
      await api().post(`/v1/runs/${runId}/steer`, { input: 'look left' });
      target().model.open(gate);
      const all = await events(runId);
      const at = all.find(({ event }) => event === 'run.steered')!.seq;
      await api().finish(await fork(runId, { at }));
      expect(
        asked(prompt)
          .at(-1)!
          .map(([, text]) => text),
      ).toContain('look left');
    });

    it('with what the workspace should have begun with, if that was not in place', async () => {
      const session_id = uniqueName('session');
      await using first = await HeldRun.start(target(), [{ text: 'first' }], { session_id });
      const workspace = { files: [{ path: 'given.txt', content: 'given' }] };
      const waiting = await api().create(commands('cat given.txt'), { session_id, workspace });
      const all = await events(await fork(waiting));
      expect(all.find(({ event }) => event === 'tool.completed')).toMatchObject({ preview: 'given' });
      first.release();
      await api().finish(waiting);
    });

    it.each([
      [
        'a chat completion',
        '/v1/chat/completions',
        (text: string) => ({ messages: [{ role: 'user', content: text }] }),
      ],
      ['a response', '/v1/responses', (text: string) => ({ input: text })],
    ])('also if the run is %s', async (_, path, bodyOf) => {
      const { headers } = await api().post(path, bodyOf(say('inline')));
      const runId = headers.get('x-talaria-run-id')!;
      const prompt = say('after it');
      const forked = await fork(runId, { input: prompt });
      expect(await api().finish(forked)).toMatchObject({ output: 'after it' });
      expect(asked(prompt)[0]!.map(([, text]) => text)).toContain('inline');
    });
  });

  describe('the fork of a run in a session', () => {
    const sessionOf = async (id: string) => (await api().get<Session>(`/api/sessions/${id}`)).body;
    const texts = async (id: string) => {
      const { body } = await api().get<SessionMessageList>(`/api/sessions/${id}/messages`);
      return body.data.map(({ content }) => content).filter((text) => !String(text).startsWith('SCRIPT'));
    };
    const turn = async (session_id: string, text: string) => {
      const runId = await api().create(say(text), { session_id });
      await api().finish(runId);
      return runId;
    };

    it('works in a new session, which begins with what the run knew', async () => {
      const session_id = uniqueName('session');
      await api().post('/api/sessions', { id: session_id, title: 'Talk', system_prompt: 'Be brief.' });
      await turn(session_id, 'one');
      const second = await turn(session_id, 'two');
      await turn(session_id, 'three');
      const runId = await fork(second, { input: say('another three') });
      await api().finish(runId);
      expect((await api().run(runId)).session_id).toBe(runId);
      expect(await sessionOf(runId)).toMatchObject({
        forked_from: session_id,
        title: 'Talk',
        has_system_prompt: true,
        last_run_id: runId,
      });
      expect(await texts(runId)).toEqual(['one', 'two', 'another three']);
      expect(await texts(session_id)).toEqual(['one', 'two', 'three']);
      const next = say('four');
      await api().finish(await api().create(next, { session_id: runId }));
      expect(
        asked(next)[0]!
          .filter(([role]) => role === 'assistant')
          .map(([, text]) => text),
      ).toEqual(['one', 'two', 'another three']);
    });

    it('that waits for its turn gets what the session has', async () => {
      const session_id = uniqueName('session');
      await turn(session_id, 'one');
      await using held = await HeldRun.start(target(), [{ text: 'two' }], { session_id });
      const waiting = say('three');
      const source = await api().create(waiting, { session_id });
      await api().finish(await fork(source));
      expect(asked(waiting)[0]!.map(([, text]) => text)).toContain('one');
      held.release();
      await api().finish(source);
    });

    it('is refused once the session is gone with what was said before the run', async () => {
      const session_id = uniqueName('session');
      const first = await turn(session_id, 'one');
      const second = await turn(session_id, 'two');
      const kept = await fork(second, { input: say('before') });
      await api().finish(kept);
      await api().request('DELETE', `/api/sessions/${session_id}`);
      await turn(session_id, 'of another session');
      expectError(await ask(second, { input: 'x' }), { status: 409, code: 'checkpoint_gone' });
      const alone = say('alone');
      await api().finish(await fork(first, { input: alone }));
      expect(JSON.stringify(asked(alone))).not.toContain('of another session');
      expect(await texts(kept)).toEqual(['one', 'two', 'before']);
    });

    it('without a name can be continued by the id of the fork', async () => {
      const source = await finished([{ text: 'one' }]);
      const runId = await fork(source.runId, { input: say('two') });
      await api().finish(runId);
      expectError(await api().get(`/api/sessions/${runId}`), { status: 404, code: 'session_not_found' });
      await turn(runId, 'three');
      expect(await texts(runId)).toEqual(['one', 'two', 'three']);
    });
  });
}

function conversation({ messages }: ChatRequest): [string, string][] {
  return messages.slice(1).map((message) => [message.role, textOf(message)]);
}

function roles(messages: [string, string][]): string[] {
  return messages.map(([role]) => role);
}
