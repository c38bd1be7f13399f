/** `POST /v1/runs`: what is accepted, what is refused, in which order (PROTOCOL.md). */
import { describe, expect, it } from 'vitest';
import { expectError } from './checked-api.ts';
import { apiOf, type GetTarget, say } from './target.ts';

const text = (type: string) => ({ role: 'user', content: [{ type, text: 'hi' }] });

export function describeCreateRun(target: GetTarget): void {
  const api = () => apiOf(target());
  const newest = async () => (await api().list('?limit=1')).data[0]?.run_id;

  describe('creating a run', () => {
    it('answers 202 with exactly an id of 32 lower-case hex digits, started, not replayed', async () => {
      const { status, body, headers } = await api().post<{ run_id: string }>('/v1/runs', {
        input: say('hello'),
      });
      expect(status).toBe(202);
      expect(body).toEqual({
        run_id: expect.stringMatching(/^run_[0-9a-f]{32}$/),
        status: 'started',
        replayed: false,
      });
      expect(headers.has('idempotency-replayed')).toBe(false);
    });

    it('gives every run a different id', async () => {
      const ids = await Promise.all(Array.from({ length: 10 }, () => api().create('hello')));
      expect(new Set(ids).size).toBe(10);
      await Promise.all(ids.map((id) => api().finish(id)));
    });

    it.each([
      ['a string', 'hi'],
      ['an array of one message', [{ role: 'user', content: 'hi' }]],
      ['text parts', [text('text')]],
      ['input_text parts', [text('input_text')]],
      ['a bare string in the array', ['hi']],
      [
        'messages with unknown roles',
        [
          { role: 'tool', content: 'x' },
          { role: 'user', content: 'hi' },
        ],
      ],
    ])('takes %s as input', async (_, input) => {
      const runId = await api().create(input);
      expect(await api().finish(runId)).toMatchObject({ event: 'run.completed', output: 'You said: hi' });
    });

    it('takes JSON whatever the content type is', async () => {
      for (const type of [
        'application/json',
        'text/plain',
        'application/x-www-form-urlencoded',
        'nonsense',
      ]) {
        const raw = JSON.stringify({ input: 'hi' });
        const answer = await api().request('POST', '/v1/runs', { raw, headers: { 'content-type': type } });
        expect(answer.status, type).toBe(202);
      }
    });
  });

  describe('a run is refused, and leaves nothing behind,', () => {
    const missing = { code: 'missing_input', message: "Missing 'input' field" };
    const noMessage = { code: 'no_user_message', message: 'No user message found in input' };
    const history = {
      code: 'invalid_history',
      message: "'conversation_history' must be an array of message objects",
    };
    const entry = (i: number) => ({
      code: 'invalid_history',
      message: `conversation_history[${i}] must have 'role' and 'content' fields`,
    });
    const wrong = (param: string) => ({ code: 'invalid_request', param });
    const webhook = (param: string) => ({ code: 'invalid_webhook', param });
    const good = { role: 'user', content: 'x' };

    it.each<[string, Record<string, unknown>, { code: string; message?: string; param?: string }]>([
      ['without input', {}, missing],
      ['with a null input', { input: null }, missing],
      ['with an empty input', { input: '' }, missing],
      ['with an empty array', { input: [] }, missing],
      ['with a blank input', { input: ' \n ' }, noMessage],
      ['with an empty last message', { input: [{ role: 'user', content: '' }] }, noMessage],
      ['with no parts in the last message', { input: [{ role: 'user', content: [] }] }, noMessage],
      ['with a null last message', { input: [{ role: 'user', content: null }] }, noMessage],
      ['with a number as input', { input: 5 }, wrong('input')],
      ['with true as input', { input: true }, wrong('input')],
      ['with zero as input', { input: 0 }, wrong('input')],
      ['with an object as input', { input: { role: 'user', content: 'x' } }, wrong('input')],
      ['with a history that is a string', { input: 'x', conversation_history: 'x' }, history],
      ['with a history that is an object', { input: 'x', conversation_history: {} }, history],
      ['with a history that is a number', { input: 'x', conversation_history: 1 }, history],
      ['with a history of strings', { input: 'x', conversation_history: ['x'] }, entry(0)],
      ['with a history of nulls', { input: 'x', conversation_history: [null] }, entry(0)],
      [
        'with a history entry without role',
        { input: 'x', conversation_history: [{ content: 'x' }] },
        entry(0),
      ],
      [
        'with a later entry without content',
        { input: 'x', conversation_history: [good, { role: 'user' }] },
        entry(1),
      ],
      ['with instructions of another type', { input: 'x', instructions: ['x'] }, wrong('instructions')],
      ['with a session of another type', { input: 'x', session_id: 5 }, wrong('session_id')],
      ['with a webhook that is a string', { input: 'x', webhook: 'https://example.com' }, webhook('webhook')],
      ['with a webhook without URL', { input: 'x', webhook: {} }, webhook('webhook.url')],
      [
        'with credentials in the URL of its webhook',
        { input: 'x', webhook: { url: 'https://ada:pw@example.com' } },
        webhook('webhook.url'),
      ],
      [
        'with a short secret of its webhook',
        { input: 'x', webhook: { url: 'https://example.com', secret: 'short' } },
        webhook('webhook.secret'),
      ],
      [
        'with a session that breaks lines',
        { input: 'x', session_id: 'a\r\nSet-Cookie: b' },
        wrong('session_id'),
      ],
      ['with a session with a zero byte', { input: 'x', session_id: 'a\u0000' }, wrong('session_id')],
      ['with a session of 257 characters', { input: 'x', session_id: 'a'.repeat(257) }, wrong('session_id')],
      [
        'with a response id of another type',
        { input: 'x', previous_response_id: 5 },
        wrong('previous_response_id'),
      ],
    ])('%s', async (_, body, expected) => {
      const before = await newest();
      expectError(await api().post('/v1/runs', body), { status: 400, ...expected });
      expect(await newest()).toBe(before);
    });

    it.each<[string, unknown]>([
      ['a message of another type', [5]],
      ['a message without content', [{ role: 'user' }]],
      ['content of another type', [{ role: 'user', content: 5 }]],
      ['a part of another type', [{ role: 'user', content: [5] }]],
      ['a part of unknown type', [{ role: 'user', content: [{ type: 'video', url: 'x' }] }]],
      [
        'an image that is a local file',
        [{ role: 'user', content: [{ type: 'image_url', image_url: 'file:///etc/passwd' }] }],
      ],
    ])('with %s in its input', async (_, input) => {
      const before = await newest();
      expect((await api().post('/v1/runs', { input })).status).toBe(400);
      expect(await newest()).toBe(before);
    });

    it('in the order JSON, key, input, history', async () => {
      const bad = { 'idempotency-key': 'not valid' };
      const post = (raw: string) => api().request('POST', '/v1/runs', { raw, headers: bad });
      expectError(await post('{'), {
        status: 400,
        code: 'invalid_json',
        message: 'Invalid JSON in request body',
      });
      expectError(await post('[]'), { status: 400, code: 'body_not_object' });
      expectError(await post('{}'), { status: 400, code: 'invalid_idempotency_key' });
      const both = { input: '', conversation_history: 5 };
      expectError(await api().post('/v1/runs', both), { status: 400, ...missing });
      const blank = { input: ' ', conversation_history: 5 };
      expectError(await api().post('/v1/runs', blank), { status: 400, ...noMessage });
    });
  });
}
