/** `/api/sessions`: transcripts that outlive their runs (PROTOCOL.md). */
import type {
  ForkedSession,
  Session,
  SessionAnswer,
  SessionList,
  SessionMessage,
  SessionMessageList,
} from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/model-server-script.ts';
import { CheckedApi, expectError } from './checked-api.ts';
import { apiOf, commands, type GetTarget, HeldRun, modelRequest, say, uniqueName } from './target.ts';

const NOT_FOUND = { status: 404, code: 'session_not_found', message: /^Session not found: / };

export function describeSessions(target: GetTarget): void {
  const api = () => apiOf(target());
  const pathOf = (sessionId: string, rest = '') => `/api/sessions/${encodeURIComponent(sessionId)}${rest}`;
  const get = async (sessionId: string) => (await api().get<Session>(pathOf(sessionId))).body;
  const remove = (sessionId: string) => api().request('DELETE', pathOf(sessionId));
  const fork = (sessionId: string, body: unknown) =>
    api().post<ForkedSession>(pathOf(sessionId, '/fork'), body);

  async function runToEnd(sessionId: string, input: string, fields = {}): Promise<string> {
    const runId = await api().create(input, { session_id: sessionId, ...fields });
    expect(await api().finish(runId)).toMatchObject({ event: 'run.completed' });
    return runId;
  }

  async function messages(sessionId: string, query = ''): Promise<SessionMessage[]> {
    const { status, body } = await api().get<SessionMessageList>(pathOf(sessionId, `/messages${query}`));
    expect({ status, session_id: body.session_id }).toEqual({ status: 200, session_id: sessionId });
    return body.data;
  }

  const contents = async (sessionId: string) => (await messages(sessionId)).map(({ content }) => content);

  /** What the model got before this prompt, without the system prompt. */
  async function contextOf(prompt: string): Promise<string[]> {
    const { body } = await modelRequest(target(), prompt);
    return body.messages.slice(1, -1).map(textOf);
  }

  describe('a session', () => {
    it('exists from the first run that names it, and grows with every run that completes', async () => {
      const session_id = uniqueName('session');
      expectError(await api().get(pathOf(session_id)), NOT_FOUND);
      await using held = await HeldRun.start(target(), [{ text: 'one' }], { session_id });
      expect(await get(session_id)).toMatchObject({
        object: 'hermes.session',
        session_id,
        message_count: 0,
        context_from: 0,
        turns: 0,
        last_run_id: held.runId,
        forked_from: null,
      });
      held.release();
      await api().finish(held.runId);
      const before = await get(session_id);
      const last_run_id = await runToEnd(session_id, say('two'));
      const after = await get(session_id);
      expect(after).toMatchObject({ message_count: 4, turns: 2, last_run_id });
      expect(after.created_at).toBe(before.created_at);
      expect(after.updated_at).toBeGreaterThanOrEqual(before.updated_at);
    });

    it('is not created by a run that names none', async () => {
      const runId = await api().create(say('unnamed'));
      await api().finish(runId);
      expectError(await api().get(pathOf(runId)), NOT_FOUND);
    });

    it('can be created from a run that named none, by naming its id', async () => {
      const first = say('one');
      const runId = await api().create(first);
      await api().finish(runId);
      const prompts = [say('two'), say('three')];
      for (const prompt of prompts) await runToEnd(runId, prompt);
      expect(await contextOf(prompts[1]!)).toEqual([first, 'one', prompts[0], 'two']);
      expect(await contents(runId)).toEqual([first, 'one', prompts[0], 'two', prompts[1], 'three']);
    });

    it('gets nothing from a run that was stopped', async () => {
      const session_id = uniqueName('session');
      await using held = await HeldRun.start(target(), [{ text: 'never' }], { session_id });
      await api().stop(held.runId);
      await api().finish(held.runId);
      expect(await get(session_id)).toMatchObject({ message_count: 0, turns: 0, last_run_id: held.runId });
    });

    it('may have any name', async () => {
      const session_id = `${uniqueName('a/b?c#d&e=%2F')} ü 🏳️‍🌈`;
      await runToEnd(session_id, say('named'));
      expect(await get(session_id)).toMatchObject({ session_id, turns: 1 });
      expect((await remove(session_id)).status).toBe(200);
    });
  });

  describe('its messages', () => {
    it("are what was said, in OpenAI's shapes, from the first on", async () => {
      const session_id = uniqueName('session');
      const [first, second] = [commands('echo hello'), say('bye')];
      const runId = await runToEnd(session_id, first);
      await runToEnd(session_id, second);
      const all = await messages(session_id);
      expect(all.map(({ index, role }) => [index, role])).toEqual([
        [0, 'user'],
        [1, 'assistant'],
        [2, 'tool'],
        [3, 'assistant'],
        [4, 'user'],
        [5, 'assistant'],
      ]);
      const call = all[1]!.tool_calls![0]!;
      expect(all[0]).toMatchObject({ content: first, run_id: runId });
      expect(all[1]).toMatchObject({ content: null });
      expect(call).toMatchObject({ type: 'function', function: { name: 'terminal' } });
      expect(JSON.parse(call.function.arguments)).toEqual({ command: 'echo hello' });
      expect(all[2]).toMatchObject({ tool_call_id: call.id, name: 'terminal' });
      expect(all[2]!.content).toContain('hello');
      expect(all[3]).toMatchObject({ content: 'done' });
      expect(all[5]).toMatchObject({ content: 'bye' });
      expect(Math.abs(all[5]!.created_at - Date.now() / 1000)).toBeLessThan(60);
    });

    it('keep images as parts', async () => {
      const session_id = uniqueName('session');
      const url = 'data:image/png;base64,iVBORw0KGgo=';
      const content = [
        { type: 'text', text: say('seen') },
        { type: 'image_url', image_url: { url } },
      ];
      const runId = await api().create([{ role: 'user', content }], { session_id });
      await api().finish(runId);
      expect((await messages(session_id))[0]!.content).toEqual(content);
    });

    it('show no credentials of tool calls', async () => {
      const session_id = uniqueName('session');
      await runToEnd(session_id, commands('echo "token=tok_abcdef123456"'));
      const [, call, result] = await messages(session_id);
      expect(JSON.stringify([call, result])).not.toContain('tok_abcdef123456');
      expect(result!.content).toContain('[redacted]');
    });

    it('come in pages', async () => {
      const session_id = uniqueName('session');
      for (const text of ['one', 'two', 'three']) await runToEnd(session_id, say(text));
      const whole = (await messages(session_id)).map(({ index }) => index);
      expect(whole).toEqual([0, 1, 2, 3, 4, 5]);
      const paged: number[] = [];
      let query = '?limit=4';
      for (;;) {
        const { body } = await api().get<SessionMessageList>(pathOf(session_id, `/messages${query}`));
        paged.push(...body.data.map(({ index }) => index));
        expect(body.has_more).toBe(body.next_cursor !== null);
        if (body.next_cursor === null) break;
        query = `?limit=4&after=${body.next_cursor}`;
      }
      expect(paged).toEqual(whole);
      expect((await messages(session_id, '?after=4')).map(({ index }) => index)).toEqual([5]);
      expect(await messages(session_id, '?after=5')).toEqual([]);
    });

    it.each([
      ['limit=0', 'invalid_pagination'],
      ['limit=501', 'invalid_pagination'],
      ['limit=x', 'invalid_pagination'],
      ['offset=-1', 'invalid_pagination'],
      ['offset=x', 'invalid_pagination'],
      ['order=newest', 'invalid_pagination'],
      ['order=oldest&after=0', 'invalid_pagination'],
      ['after=6', 'invalid_cursor'],
      ['after=-1', 'invalid_cursor'],
      ['after=x', 'invalid_cursor'],
      ['after=1&after=2', 'invalid_request'],
    ])('are refused for ?%s', async (query, code) => {
      const session_id = uniqueName('session');
      await runToEnd(session_id, say('one'));
      const answer = await api().get(pathOf(session_id, `/messages?${query}`));
      expectError(answer, { status: 400, code });
    });

    it('can be read by order and offset, always in conversation order', async () => {
      const session_id = uniqueName('session');
      for (const text of ['one', 'two', 'three']) await runToEnd(session_id, say(text));
      const page = async (query: string) => {
        const { body } = await api().get<SessionMessageList>(pathOf(session_id, `/messages?${query}`));
        return [body.data.map(({ index }) => index), body.has_more, body.pagination];
      };
      const told = (limit: number, offset: number, order: string, returned: number) => ({
        limit,
        offset,
        order,
        returned,
      });
      expect(await page('')).toEqual([[0, 1, 2, 3, 4, 5], false, told(500, 0, 'oldest', 6)]);
      expect(await page('order=latest')).toEqual([[0, 1, 2, 3, 4, 5], false, told(500, 0, 'latest', 6)]);
      expect(await page('order=latest&limit=2')).toEqual([[4, 5], true, told(2, 0, 'latest', 2)]);
      expect(await page('offset=1&limit=2')).toEqual([[3, 4], true, told(2, 1, 'latest', 2)]);
      expect(await page('order=latest&offset=5&limit=2')).toEqual([[0], false, told(2, 5, 'latest', 1)]);
      expect(await page('order=latest&offset=9')).toEqual([[], false, told(500, 9, 'latest', 0)]);
      expect(await page('order=oldest&limit=2')).toEqual([[0, 1], true, told(2, 0, 'oldest', 2)]);
      expect(await page('order=oldest&offset=4&limit=9')).toEqual([[4, 5], false, told(9, 4, 'oldest', 2)]);
      expect(await page('order=oldest&offset=9')).toEqual([[], false, told(500, 9, 'oldest', 0)]);
    });

    it('from before a run brought its own history are readable, but not context', async () => {
      const session_id = uniqueName('session');
      const prompts = [say('one'), say('two'), say('three')];
      await runToEnd(session_id, prompts[0]!);
      const history = { conversation_history: [{ role: 'user', content: 'mine' }] };
      await runToEnd(session_id, prompts[1]!, history);
      await runToEnd(session_id, prompts[2]!);
      expect(await contextOf(prompts[2]!)).toEqual(['mine', prompts[1], 'two']);
      expect(await get(session_id)).toMatchObject({ message_count: 7, context_from: 2, turns: 3 });
      expect((await contents(session_id)).slice(0, 3)).toEqual([prompts[0], 'one', 'mine']);
    });
  });

  describe('the list', () => {
    it('has the most recently used session first', async () => {
      const names = ['a', 'b', 'c'].map(uniqueName);
      for (const name of names) await runToEnd(name, say('x'));
      await runToEnd(names[0]!, say('again'));
      const { body } = await api().get<SessionList>('/api/sessions?limit=200');
      const listed = body.data.map(({ session_id }) => session_id).filter((name) => names.includes(name));
      expect(listed).toEqual([names[0], names[2], names[1]]);
      const { session } = (await api().get<SessionAnswer>(pathOf(names[0]!))).body;
      expect(body.data.find(({ session_id }) => session_id === names[0])).toEqual(session);
    });

    it('comes in pages', async () => {
      const names = ['a', 'b', 'c'].map(uniqueName);
      for (const name of names) await runToEnd(name, say('x'));
      const paged: string[] = [];
      for (let after = ''; paged.length < 3; ) {
        const { body } = await api().get<SessionList>(`/api/sessions?limit=2${after}`);
        paged.push(...body.data.map(({ session_id }) => session_id));
        if (body.next_cursor === null) break;
        after = `&after=${body.next_cursor}`;
      }
      expect(paged.slice(0, 3)).toEqual(names.toReversed());
    });

    it.each([
      ['limit=0', 'invalid_request'],
      ['limit=1e2', 'invalid_request'],
      ['after=nonsense', 'invalid_cursor'],
      ['after=a&after=b', 'invalid_request'],
      ['offset=-1', 'invalid_pagination'],
      ['offset=1e9', 'invalid_pagination'],
      ['offset=1&after=a', 'invalid_pagination'],
      ['include_hidden=perhaps&title=x', 'invalid_request'],
    ])('is refused for ?%s', async (query, code) => {
      expectError(await api().get(`/api/sessions?${query}`), { status: 400, code });
    });

    it('refuses a cursor of a list of runs', async () => {
      for (let i = 0; i < 2; i++) await api().create(say('x'));
      const { next_cursor } = await api().list('?limit=1');
      const answer = await api().get(`/api/sessions?after=${next_cursor}`);
      expectError(answer, { status: 400, code: 'invalid_cursor' });
    });
  });

  describe('a fork', () => {
    it('begins with the messages of the session, and then changes alone', async () => {
      const session_id = uniqueName('session');
      const [first, second, third] = [say('one'), say('in the session'), say('in the fork')];
      await runToEnd(session_id, first!);
      const name = uniqueName('fork');
      const { status, body } = await fork(session_id, { session_id: name });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        session_id: name,
        forked_from: session_id,
        message_count: 2,
        turns: 1,
        last_run_id: null,
      });
      const { files_as_of, ...forked } = body;
      expect(files_as_of).toBe('now');
      expect(await get(name)).toEqual(forked);
      await runToEnd(session_id, second!);
      await runToEnd(name, third!);
      expect(await contextOf(third!)).toEqual([first, 'one']);
      expect((await contents(session_id)).at(-1)).toBe('in the session');
      expect((await contents(name)).at(-1)).toBe('in the fork');
    });

    it.each([
      ['no body', undefined],
      ['an empty one', {}],
      ['nulls', { session_id: null, messages: null }],
    ])('with %s has all messages, under a generated name', async (_, body) => {
      const session_id = uniqueName('session');
      await runToEnd(session_id, say('one'));
      const answer = await fork(session_id, body);
      expect(answer.status).toBe(201);
      expect(answer.body).toMatchObject({
        session_id: expect.stringMatching(/^sess_[0-9a-f]{32}$/),
        message_count: 2,
      });
    });

    it('up to a number of messages never separates a tool call from its result', async () => {
      const session_id = uniqueName('session');
      await runToEnd(session_id, commands('echo a', 'echo b'));
      const counts = [];
      for (const count of [0, 1, 2, 3, 4, 5]) {
        counts.push((await fork(session_id, { messages: count })).body.message_count);
      }
      // The prompt, two calls, two results, the answer.
      expect(counts).toEqual([0, 1, 1, 1, 4, 5]);
    });

    it('under a name that is taken is 409', async () => {
      const [session_id, taken] = [uniqueName('session'), uniqueName('taken')];
      await runToEnd(session_id, say('one'));
      await runToEnd(taken, say('two'));
      const exists = { status: 409, code: 'session_exists' };
      expectError(await fork(session_id, { session_id: taken }), exists);
      expectError(await fork(session_id, { session_id }), exists);
      expect(await contents(taken)).toHaveLength(2);
    });

    it.each<[string, unknown, string]>([
      ['too many messages', { messages: 3 }, 'invalid_request'],
      ['fewer than none', { messages: -1 }, 'invalid_request'],
      ['a fraction', { messages: 1.5 }, 'invalid_request'],
      ['a word', { messages: 'all' }, 'invalid_request'],
      ['a long name', { session_id: 'x'.repeat(257) }, 'invalid_session_id'],
      ['a control character', { session_id: 'a\nb' }, 'invalid_session_id'],
      ['a number for a name', { session_id: 5 }, 'invalid_session_id'],
      ['a number beside a name', { id: 'name', session_id: 5 }, 'invalid_session_id'],
      ['a number for a title', { title: 5 }, 'invalid_title'],
      ['no object', [], 'body_not_object'],
    ])('with %s is 400', async (_, body, code) => {
      const session_id = uniqueName('session');
      await runToEnd(session_id, say('one'));
      expectError(await fork(session_id, body), { status: 400, code });
    });
  });

  describe('deletion', () => {
    it('removes the transcript, so that a later session of that name begins empty', async () => {
      const session_id = uniqueName('session');
      await runToEnd(session_id, say('forgotten'));
      const answer = await remove(session_id);
      const deleted = { object: 'hermes.session.deleted', id: session_id, deleted: true, ok: true };
      expect([answer.status, answer.body]).toEqual([200, deleted]);
      expectError(await api().get(pathOf(session_id)), NOT_FOUND);
      const prompt = say('new');
      await runToEnd(session_id, prompt);
      expect(await contextOf(prompt)).toEqual([]);
      expect(await contents(session_id)).toEqual([prompt, 'new']);
    });

    it('leaves the runs alone', async () => {
      const session_id = uniqueName('session');
      const runId = await runToEnd(session_id, say('kept'));
      await remove(session_id);
      expect(await api().run(runId)).toMatchObject({ status: 'completed', output: 'kept', session_id });
    });

    it('is 409 while a run of the session is unfinished', async () => {
      const session_id = uniqueName('session');
      await using held = await HeldRun.start(target(), [{ text: 'x' }], { session_id });
      expectError(await remove(session_id), { status: 409, code: 'session_active_turn' });
      held.release();
      await api().finish(held.runId);
      expect((await remove(session_id)).status).toBe(200);
    });
  });

  describe('a session that does not exist', () => {
    it.each([
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['GET', '/messages', undefined],
      ['GET', '/messages?after=0', undefined],
      ['POST', '/fork', '{}'],
      ['POST', '/fork', 'not json'],
      ['PATCH', '', 'not json'],
      ['POST', '/chat', 'not json'],
      ['POST', '/chat/stream', '{"message":"hello"}'],
    ])('is 404 for %s %s', async (method, rest, raw) => {
      const path = pathOf(uniqueName('missing'), rest);
      expectError(await api().request(method, path, raw === undefined ? {} : { raw }), NOT_FOUND);
    });
  });
}

export function describeSessionOwnership(target: GetTarget): void {
  describe("another key's session", () => {
    it('looks like one that does not exist, and the same name is another session', async () => {
      const mine = apiOf(target());
      const other = new CheckedApi(target().baseUrl, target().otherKey);
      const session_id = uniqueName('session');
      await mine.finish(await mine.create(say('secret'), { session_id }));
      const path = `/api/sessions/${session_id}`;
      for (const [method, rest] of [
        ['GET', ''],
        ['GET', '/messages'],
        ['DELETE', ''],
        ['POST', '/fork'],
        ['PATCH', ''],
        ['POST', '/chat'],
        ['POST', '/chat/stream'],
      ] as const) {
        expectError(await other.request(method, path + rest), NOT_FOUND);
      }
      const prompt = say('mine');
      await other.finish(await other.create(prompt, { session_id }));
      const { body } = await other.get<SessionMessageList>(`${path}/messages`);
      expect(body.data.map(({ content }) => content)).toEqual([prompt, 'mine']);
      const listed = await other.get<SessionList>('/api/sessions?limit=200');
      expect(listed.body.data.filter((session) => session.session_id === session_id)).toMatchObject([
        { turns: 1 },
      ]);
    });
  });
}
