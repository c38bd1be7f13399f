/** Sessions as resources: created, described, changed, found (PROTOCOL.md). */
import type { SessionAnswer, SessionList } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { textOf } from '../support/model-server-script.ts';
import { expectError } from './checked-api.ts';
import { apiOf, commands, type GetTarget, modelRequest, say, uniqueName } from './target.ts';

export function describeSessionResources(target: GetTarget): void {
  const api = () => apiOf(target());
  const pathOf = (id: string) => `/api/sessions/${encodeURIComponent(id)}`;
  const create = (body?: unknown) => api().post<SessionAnswer>('/api/sessions', body);
  const get = async (id: string) => (await api().get<SessionAnswer>(pathOf(id))).body.session;
  const patch = (id: string, body: unknown) => api().request<SessionAnswer>('PATCH', pathOf(id), { body });
  const list = async (query: string) =>
    (await api().get<SessionList>(`/api/sessions?${query}`)).body.data.map(({ id }) => id);

  async function created(fields: Record<string, unknown> = {}): Promise<string> {
    const { status, body } = await create({ id: uniqueName('session'), ...fields });
    expect(status).toBe(201);
    return body.id;
  }

  async function run(session_id: string, input: string): Promise<void> {
    const runId = await api().create(input, { session_id });
    expect(await api().finish(runId)).toMatchObject({ event: 'run.completed' });
  }

  describe('a created session', () => {
    it('exists at once, as the response says', async () => {
      const id = uniqueName('session');
      const { status, body } = await create({
        id,
        title: '  My\n talk ',
        source: 'cli',
        model: 'some-model',
      });
      expect(status).toBe(201);
      expect(body.object).toBe('hermes.session');
      expect(body.session).toMatchObject({
        id,
        session_id: id,
        title: 'My talk',
        source: 'cli',
        model: 'some-model',
        message_count: 0,
        tool_call_count: 0,
        input_tokens: 0,
        output_tokens: 0,
        turns: 0,
        last_run_id: null,
        preview: null,
        ended_at: null,
        end_reason: null,
        parent_session_id: null,
        pinned: false,
        archived: false,
        hidden: false,
        unread: false,
        has_system_prompt: false,
      });
      expect(body.session.started_at).toBe(body.created_at);
      expect(Math.abs(body.session.started_at - Date.now() / 1000)).toBeLessThan(60);
      expect(await get(id)).toEqual(body.session);
    });

    it.each([
      ['no body', undefined],
      ['an empty one', {}],
    ])('with %s gets a generated name', async (_, body) => {
      const answer = await create(body);
      expect(answer.status).toBe(201);
      expect(answer.body.id).toMatch(/^api_\d+_[0-9a-f]{8}$/);
      const { body: models } = await api().get<{ data: { id: string }[] }>('/v1/models');
      expect(answer.body).toMatchObject({ title: null, source: 'api_server', model: models.data[0]!.id });
    });

    it('can be named with session_id, too', async () => {
      const session_id = uniqueName('session');
      expect((await create({ session_id })).body.id).toBe(session_id);
    });

    it('counts what its runs do, and shows how it began', async () => {
      const id = await created({ title: 'counted' });
      await run(id, commands('echo one', 'echo two'));
      await run(id, say('bye'));
      const session = await get(id);
      expect(session).toMatchObject({ title: 'counted', turns: 2, tool_call_count: 2, message_count: 7 });
      expect(session.input_tokens).toBeGreaterThan(0);
      expect(session.output_tokens).toBeGreaterThan(0);
      expect(session.preview).toEqual(expect.any(String));
    });

    it('gives every run its system prompt, and never shows it', async () => {
      const rule = uniqueName('Always be brief');
      const id = await created({ system_prompt: rule });
      const prompts = [say('one'), say('two')] as const;
      await run(id, prompts[0]);
      const runId = await api().create(prompts[1], { session_id: id, instructions: 'And polite.' });
      await api().finish(runId);
      const told = await Promise.all(prompts.map((prompt) => modelRequest(target(), prompt)));
      const [first, second] = told.map(({ body }) => textOf(body.messages[0]!));
      expect(first).toContain(rule);
      expect(second!.indexOf(rule)).toBeGreaterThan(-1);
      expect(second!.indexOf('And polite.')).toBeGreaterThan(second!.indexOf(rule));
      expect((await get(id)).has_system_prompt).toBe(true);
      for (const path of [pathOf(id), `${pathOf(id)}/messages`, '/api/sessions', `/v1/runs/${runId}`]) {
        expect(JSON.stringify((await api().get(path)).body)).not.toContain(rule);
      }
    });

    it('also gives the prompt to responses that continue the session, a response in it, or a fork of it', async () => {
      const rule = uniqueName('rule');
      const id = await created({ system_prompt: rule });
      const respond = async (fields: object) => {
        const input = say('heard');
        const { status, body } = await api().post<{ id: string }>('/v1/responses', { input, ...fields });
        expect(status).toBe(200);
        const asked = await modelRequest(target(), input);
        expect(textOf(asked.body.messages[0]!), JSON.stringify(fields)).toContain(rule);
        return body.id;
      };
      const first = await respond({ conversation: id });
      await respond({ previous_response_id: first });
      await respond({ previous_response_id: first, instructions: 'More.' });
      await respond({ previous_response_id: first, store: false });
      await respond({ conversation: id, store: false });
    });

    it.each<[string, object, number, string]>([
      ['a name that is taken', { id: 'TAKEN' }, 409, 'session_exists'],
      ['a number for a name', { id: 5 }, 400, 'invalid_session_id'],
      ['a long name', { id: 'x'.repeat(257) }, 400, 'invalid_session_id'],
      ['a control character', { id: 'a\nb' }, 400, 'invalid_session_id'],
      ['a list for a title', { title: ['x'] }, 400, 'invalid_title'],
      ['a long title', { title: 'x'.repeat(101) }, 400, 'invalid_title'],
      ['a number for a prompt', { system_prompt: 5 }, 400, 'invalid_system_prompt'],
      ['a zero character in it', { system_prompt: 'a\0b' }, 400, 'invalid_system_prompt'],
      ['a lock without a model', { require_model_lock: true }, 400, 'missing_model'],
      ['a lock on another model', { require_model_lock: true, model: 'x' }, 409, 'model_lock_unavailable'],
      ['a long source', { source: 'x'.repeat(257) }, 400, 'invalid_session_field'],
    ])('is refused with %s', async (_, body, status, code) => {
      const taken = await created();
      const fields = 'id' in body && body.id === 'TAKEN' ? { id: taken } : body;
      expectError(await create(fields), { status, code });
    });

    it('is refused with a body that is not an object', async () => {
      const answer = await api().request('POST', '/api/sessions', { raw: 'not json' });
      expectError(answer, { status: 400, code: 'invalid_json' });
      expectError(await create([]), { status: 400, code: 'body_not_object' });
    });
  });

  describe('a change of a session', () => {
    it('sets the given fields, and does not move the session in the list', async () => {
      const [first, second] = [await created({ title: 'old' }), await created()];
      const before = await get(first);
      const { status, body } = await patch(first, {
        title: 'new',
        pinned: true,
        archived: true,
        unread: true,
      });
      expect(status).toBe(200);
      expect(body.session).toEqual({ ...before, title: 'new', pinned: true, archived: true, unread: true });
      expect((await patch(first, { title: null, pinned: false })).body.session).toMatchObject({
        title: null,
        pinned: false,
        archived: true,
      });
      const names = await list('limit=200');
      expect(names.indexOf(first)).toBeGreaterThan(names.indexOf(second));
    });

    it('ends the session, until a run reopens it', async () => {
      const id = await created();
      const { body } = await patch(id, { end_reason: 'user_left' });
      expect(body.session).toMatchObject({ end_reason: 'user_left', ended_at: expect.any(Number) });
      await run(id, say('again'));
      expect(await get(id)).toMatchObject({ end_reason: null, ended_at: null });
    });

    it.each<[unknown, string, string?]>([
      [{ model: 'x', color: 'red' }, 'unsupported_session_field', 'Unsupported session fields: color, model'],
      [{ pinned: 'yes' }, 'invalid_session_field'],
      [{ hidden: null }, 'invalid_session_field'],
      [{ title: 5 }, 'invalid_title'],
      [[], 'body_not_object'],
    ])('to %j is refused', async (body, code, message) => {
      const id = await created({ title: 'kept' });
      expectError(await patch(id, body), {
        status: 400,
        code,
        ...(message === undefined ? {} : { message }),
      });
      expect((await get(id)).title).toBe('kept');
    });
  });

  describe('the list of sessions', () => {
    it('can skip the first ones', async () => {
      const names = [await created(), await created(), await created()];
      expect(await list('limit=2')).toEqual([names[2], names[1]]);
      expect(await list('limit=2&offset=1')).toEqual([names[1], names[0]]);
      const { body } = await api().get<SessionList>('/api/sessions?limit=1&offset=2');
      expect(body).toMatchObject({ limit: 1, offset: 2, data: [{ id: names[0] }] });
      const next = await api().get<SessionList>(`/api/sessions?limit=1&after=${body.next_cursor}`);
      expect(next.body.data[0]?.id).not.toBe(names[0]);
      expect(await list('offset=1000000')).toEqual([]);
    });

    it('is found by title or source, and leaves out hidden ones', async () => {
      const [title, source] = [uniqueName('title'), uniqueName('source')];
      const [one, two] = [await created({ title, source }), await created({ title })];
      const filter = `title=${title}`;
      expect(await list(filter)).toEqual([two, one]);
      expect(await list(`source=${source}`)).toEqual([one]);
      await patch(two, { hidden: true });
      expect(await list(filter)).toEqual([one]);
      expect(await list(`${filter}&include_hidden=true`)).toEqual([two, one]);
      expect(await list('include_hidden=true&limit=200')).not.toContain(two);
      expect((await get(two)).hidden).toBe(true);
    });
  });

  it('a fork keeps the system prompt of its session, and takes a title of its own', async () => {
    const rule = uniqueName('rule');
    const id = await created({ title: 'old', system_prompt: rule });
    await run(id, say('one'));
    const [same, other] = [uniqueName('fork'), uniqueName('fork')];
    await api().post(`${pathOf(id)}/fork`, { id: same });
    await api().post(`${pathOf(id)}/fork`, { id: other, title: 'new' });
    expect(await get(same)).toMatchObject({ title: 'old', parent_session_id: id, has_system_prompt: true });
    expect(await get(other)).toMatchObject({ title: 'new', message_count: 2, input_tokens: 0 });
    const prompt = say('two');
    await run(other, prompt);
    expect(textOf((await modelRequest(target(), prompt)).body.messages[0]!)).toContain(rule);
  });
}
