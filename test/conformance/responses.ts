/** `/v1/responses` (PROTOCOL.md). */
import type { ResponseEvent, ResponseObject } from '@talaria/protocol';
import * as schemas from '@talaria/protocol/schemas';
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import {
  getStream,
  type PostedStream,
  type PostedStreamOptions,
  postStream,
} from '../support/posted-stream.ts';
import { waitFor } from '../support/wait-for.ts';
import { CheckedApi, expectError, expectSecurityHeaders, expectShape } from './checked-api.ts';
import { apiOf, commands, GATED, type GetTarget, modelRequest, say, terminal, uniqueName } from './target.ts';

const PATH = '/v1/responses';
const MISSING = `resp_${'0'.repeat(28)}`;

/** Fields that OpenAI's clients read without checking. */
const ALWAYS_THERE = [
  'background',
  'completed_at',
  'conversation',
  'error',
  'incomplete_details',
  'instructions',
  'metadata',
  'model',
  'parallel_tool_calls',
  'previous_response_id',
  'store',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_p',
  'truncation',
  'usage',
];

interface ItemPage {
  object: 'list';
  data: { id: string; type: string }[];
  first_id: string;
  last_id: string;
  has_more: boolean;
}

export function describeResponses(target: GetTarget): void {
  const api = () => apiOf(target());
  const post = <T = ResponseObject>(
    input: unknown,
    fields: object = {},
    headers: Record<string, string> = {},
  ) => api().post<T>(PATH, { input, ...fields }, headers);
  const get = async (id: string) => (await api().get<ResponseObject>(`${PATH}/${id}`)).body;
  const stream = (input: unknown, fields: object = {}, options: PostedStreamOptions = {}) =>
    postStream(api(), PATH, { input, stream: true, ...fields }, options);
  const resume = (id: string, query = '') => getStream(api(), `${PATH}/${id}?stream=true${query}`);
  const ended = (id: string) =>
    waitFor(`the end of ${id}`, async () => {
      const response = await get(id);
      return response.status !== 'queued' && response.status !== 'in_progress' && response;
    });
  /** What the model got for this prompt, without the system message. */
  const given = async (prompt: string): Promise<string[]> => {
    const { messages } = (await modelRequest(target(), prompt)).body;
    return messages.slice(1).map((message) => textOf(message));
  };

  describe('a response in one piece', () => {
    it('is the answer of a run, whose id begins with its id', async () => {
      const { status, headers, body } = await post(
        script([{ text: 'four', usage: { input: 7, output: 3 } }]),
        {
          model: 'gpt-anything',
          instructions: 'Be brief.',
          metadata: { order: '7' },
        },
      );
      expect(status).toBe(200);
      expect(Object.keys(body)).toEqual(expect.arrayContaining(ALWAYS_THERE));
      expect(body).toMatchObject({
        object: 'response',
        status: 'completed',
        model: 'gpt-anything',
        instructions: 'Be brief.',
        metadata: { order: '7' },
        output: [
          {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'four', annotations: [] }],
          },
        ],
        usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 },
        store: true,
        background: false,
        truncation: 'disabled',
      });
      expect(body.id).toMatch(/^resp_[0-9a-f]{28}$/);
      const runId = headers.get('x-talaria-run-id')!;
      expect(runId.startsWith(`run_${body.id.slice('resp_'.length)}`)).toBe(true);
      expect(body).toMatchObject({ run_id: runId, session_id: headers.get('x-hermes-session-id') });
      expect(await get(body.id)).toEqual(body);
      expect(await api().run(runId)).toMatchObject({ status: 'completed', output: 'four' });
    });

    it("has the agent's calls and their whole output, as calls that the server runs", async () => {
      const { body } = await post(commands('seq 1 400'));
      const [call, answer] = body.output;
      expect(call).toMatchObject({
        type: 'mcp_call',
        server_label: 'talaria',
        name: 'terminal',
        status: 'completed',
        output: expect.stringContaining('\n399\n400'),
        error: null,
      });
      expect(answer).toMatchObject({ type: 'message', content: [{ text: 'done' }] });
    });

    it('shows a failed call as failed', async () => {
      const { body } = await post(commands('echo no >&2; exit 3'));
      expect(body.output[0]).toMatchObject({
        type: 'mcp_call',
        status: 'failed',
        output: null,
        error: expect.stringContaining('no'),
      });
    });

    it('has the calls in the older form on request, also when it is read again', async () => {
      const headers = { 'x-hermes-tool-items': 'function_call' };
      const { body } = await post(commands('echo hi'), {}, headers);
      const [call, output] = body.output;
      expect(call).toMatchObject({ type: 'function_call', name: 'terminal', status: 'completed' });
      expect(output).toMatchObject({ type: 'function_call_output', output: expect.stringContaining('hi') });
      expect((call as { call_id: string }).call_id).toBe((output as { call_id: string }).call_id);
      expect(await get(body.id)).toEqual(body);
    });

    it('takes the items of an earlier one among its messages, or references to them', async () => {
      const { body: earlier } = await post(commands('echo hi'));
      const references = earlier.output.map(({ id }) => ({ type: 'item_reference', id }));
      for (const items of [earlier.output, references]) {
        const prompt = say('and then?');
        const { status } = await post([
          { role: 'user', content: 'first' },
          ...items,
          { role: 'user', content: prompt },
        ]);
        expect(status).toBe(200);
        expect(await given(prompt)).toEqual(['first', '', expect.stringContaining('hi'), 'done', prompt]);
      }
    });

    it('names the unknown reference', async () => {
      const id = `msg_${'0'.repeat(34)}`;
      const answer = await post<unknown>([
        { type: 'item_reference', id },
        { role: 'user', content: 'x' },
      ]);
      expectError(answer, { status: 400, code: 'invalid_request', param: 'input[0]' });
      expect(JSON.stringify(answer.body)).toContain(id);
    });

    it('says which settings of the model were used', async () => {
      const prompt = say('a');
      const { body } = await post(prompt, {
        temperature: 0.5,
        top_p: 0.9,
        max_output_tokens: 100,
        parallel_tool_calls: false,
        reasoning: { effort: 'low' },
        tools: [{ type: 'web_search' }],
      });
      expect(body).toMatchObject({
        temperature: 0.5,
        top_p: 0.9,
        max_output_tokens: 100,
        reasoning: { effort: 'low' },
        tools: [],
        tool_choice: 'auto',
        text: { format: { type: 'text' } },
      });
      expect((await modelRequest(target(), prompt)).body).toMatchObject({ temperature: 0.5, top_p: 0.9 });
    });

    it('has the requested format, and nothing else', async () => {
      const schema = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] };
      const format = { type: 'json_schema', name: 'answer', schema, strict: true };
      const input = script([
        { text: 'I look.', tools: [terminal('echo hi')] },
        { text: '{"a":"one"}' },
        { text: '```json\n{"a":1}\n```' },
      ]);
      const { status, body } = await post(input, { text: { format } });
      expect(status).toBe(200);
      expect(body.output.map(({ type }) => type)).toEqual(['mcp_call', 'message']);
      expect(body).toMatchObject({ text: { format }, output: [{}, { content: [{ text: '{"a":1}' }] }] });
      expect(await get(body.id)).toEqual(body);
    });

    it('lists its input items', async () => {
      const input = [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'input_text', text: say('a') }] },
      ];
      const { body } = await post(input);
      const list = async (query = '') =>
        (await api().get<ItemPage>(`${PATH}/${body.id}/input_items${query}`)).body;
      const { data, ...page } = await list('?order=asc');
      expect(data).toMatchObject([
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
        { type: 'message', role: 'user', content: input[1]!.content },
      ]);
      expect(page).toEqual({
        object: 'list',
        first_id: data[0]!.id,
        last_id: data[1]!.id,
        has_more: false,
      });
      expect((await list()).data).toEqual(data.toReversed());
      expect(await list('?limit=1')).toMatchObject({ data: [data[1]], has_more: true });
      expect(await list(`?limit=1&after=${data[1]!.id}`)).toMatchObject({ data: [data[0]], has_more: false });
      const bad = await api().get(`${PATH}/${body.id}/input_items?after=nope`);
      expectError(bad, { status: 400, code: 'invalid_cursor', param: 'after' });
      const none = await api().get(`${PATH}/${MISSING}/input_items`);
      expectError(none, { status: 404, code: 'response_not_found' });
    });

    it('is incomplete when the answer was cut short', async () => {
      const { status, body } = await post(script([{ text: 'half', finish: 'length' }]));
      expect(status).toBe(200);
      expect(body).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      });
    });

    it('is an error when the run fails, and can still be read', async () => {
      const { status, headers, body } = await post<{ error: object }>(
        script([{ error: { status: 401, message: 'no' } }]),
      );
      expect(status).toBe(400);
      expect(headers.get('x-should-retry')).toBe('false');
      expect(body.error).toMatchObject({ code: 'provider_auth' });
      const id = `resp_${headers.get('x-talaria-run-id')!.slice('run_'.length).slice(0, 28)}`;
      expect(await get(id)).toMatchObject({ status: 'failed', error: { code: 'provider_auth' } });
    });

    it('is returned again for the same idempotency key, and refused for another request', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      const prompt = say('once');
      const first = await post(prompt, {}, headers);
      const second = await post(prompt, {}, headers);
      expect(second.body).toEqual(first.body);
      expect(second.headers.get('idempotency-replayed')).toBe('true');
      const other = await post<unknown>(say('two'), {}, headers);
      expectError(other, { status: 409, code: 'idempotency_key_conflict' });
    });
  });

  describe('a streamed response', () => {
    const prompt = () =>
      script([
        { text: 'I look.', tools: [terminal('echo hi')] },
        { text: 'I see.', chunks: 3, delayMs: 30 },
      ]);

    it('comes in events of OpenAI’s, in order and without gaps', async () => {
      const streamed = await stream(prompt());
      expect(streamed.status).toBe(200);
      expect(streamed.headers.get('content-type')).toBe('text/event-stream');
      expectSecurityHeaders(streamed.headers);
      expect(streamed.clean).toBe(true);
      const events = eventsOf(streamed);
      const types = events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]);
      const text = [
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
      ];
      expect(types).toEqual([
        'response.created',
        'response.in_progress',
        ...text,
        'response.output_item.added',
        'response.mcp_call.in_progress',
        'response.mcp_call_arguments.delta',
        'response.mcp_call_arguments.done',
        'response.mcp_call.completed',
        'response.output_item.done',
        ...text,
        'response.completed',
      ]);
      const last = events.at(-1) as Extract<ResponseEvent, { type: 'response.completed' }>;
      expect(await get(last.response.id)).toEqual(last.response);
    });

    it('continues after any of its events', async () => {
      const events = eventsOf(await stream(prompt()));
      const { id } = (events[0] as Extract<ResponseEvent, { type: 'response.created' }>).response;
      expect(eventsOf(await resume(id))).toEqual(events);
      for (const n of [0, 1, 5, events.length - 2, events.length - 1]) {
        expect(eventsOf(await resume(id, `&starting_after=${n}`), n + 1)).toEqual(events.slice(n + 1));
      }
    });

    it.each(['-1', 'x', '1.5', '99999999'])('is not resumed after %s', async (after) => {
      const { body } = await post(say('a'));
      const answer = await api().get(`${PATH}/${body.id}?stream=true&starting_after=${after}`);
      expectError(answer, { status: 400, code: 'invalid_cursor', param: 'starting_after' });
      if (/^\d+$/.test(after)) return;
      const unused = await api().get(`${PATH}/${body.id}?stream=false&starting_after=${after}`);
      expectError(unused, { status: 400, code: 'invalid_cursor', param: 'starting_after' });
    });

    it('ends with response.failed and an error when the run fails or is stopped', async () => {
      const streamed = await stream(script([{ error: { status: 401, message: 'no' } }]));
      const failed = eventsOf(streamed);
      expect(failed.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
      expect(JSON.parse(streamed.frames.at(-1)!.data)).toMatchObject({
        type: 'error',
        sequence_number: failed.at(-1)!.sequence_number,
        code: 'provider_auth',
        error: { code: 'provider_auth', type: 'invalid_request_error' },
      });
      const gate = uniqueName('stopped');
      const stopping = stream(
        script([{ gate, text: 'never' }]),
        {},
        {
          onHead: (headers) => void api().stop(headers.get('x-talaria-run-id')!),
        },
      );
      expect(eventsOf(await stopping).at(-1)).toMatchObject({
        type: 'response.failed',
        response: { status: 'cancelled', error: { code: 'run_cancelled' } },
      });
      target().model.open(gate);
    });

    it('shows a pending approval, and that it was answered', async () => {
      const streamed = await stream(
        commands(GATED),
        {},
        {
          onFrame({ data }) {
            const { response } = JSON.parse(data) as { response?: ResponseObject };
            if (response?.approval) void api().approve(response.run_id!, 'deny');
          },
        },
      );
      const states = eventsOf(streamed).flatMap((event) =>
        event.type === 'response.in_progress' ? [event.response.approval?.command ?? null] : [],
      );
      expect(states).toEqual([null, GATED, null]);
      const { response } = eventsOf(streamed).at(-1) as Extract<
        ResponseEvent,
        { type: 'response.completed' }
      >;
      expect(JSON.stringify(response.output)).toMatch(/Approval needed.*Denied\./);
      expect(await get(response.id)).toEqual(response);
    });
  });

  describe('a response in the background', () => {
    it('is answered at once and continues by itself', async () => {
      const gate = uniqueName('background');
      const { status, body } = await post(script([{ gate, text: 'later' }]), { background: true });
      expect(status).toBe(200);
      expect(body).toMatchObject({ background: true, output: [], completed_at: null });
      expect(['queued', 'in_progress']).toContain(body.status);
      await target().model.waitingAt(gate);
      expect(await get(body.id)).toMatchObject({ status: 'in_progress' });
      expectError(await api().request('DELETE', `${PATH}/${body.id}`), {
        status: 409,
        code: 'response_not_finished',
      });
      const next = await post<unknown>('x', { previous_response_id: body.id });
      expectError(next, {
        status: 409,
        code: 'previous_response_not_completed',
        param: 'previous_response_id',
      });
      target().model.open(gate);
      expect(await ended(body.id)).toMatchObject({
        status: 'completed',
        output: [{ content: [{ text: 'later' }] }],
      });
    });

    it('is cancelled, and stays so', async () => {
      const { body } = await post(script([{ hang: 'before' }]), { background: true });
      const cancel = () => api().post<ResponseObject>(`${PATH}/${body.id}/cancel`);
      const first = await cancel();
      expect(first.status).toBe(200);
      expect(first.body.status).toBe('cancelled');
      expect((await cancel()).body).toEqual(first.body);
    });

    it('is not cancelled when it is over, or not in the background', async () => {
      const { body } = await post(say('a'), { background: true });
      await ended(body.id);
      const over = await api().post(`${PATH}/${body.id}/cancel`);
      expectError(over, { status: 409, code: 'response_not_active' });
      const inline = await post(say('a'));
      const none = await api().post(`${PATH}/${inline.body.id}/cancel`);
      expectError(none, { status: 400, code: 'response_not_background' });
    });

    it('is watched by any number of readers, who may leave', async () => {
      const gate = uniqueName('watched');
      const input = script([{ chunks: ['a', { gate }, 'b'] }]);
      const left = await stream(
        input,
        { background: true },
        { until: ({ event }) => event === 'response.output_text.delta' },
      );
      const { id } = (eventsOf(left)[0] as Extract<ResponseEvent, { type: 'response.created' }>).response;
      const readers = [resume(id), resume(id)];
      target().model.open(gate);
      const [first, second] = (await Promise.all(readers)).map((streamed) => eventsOf(streamed));
      expect(first).toEqual(second);
      expect(first!.slice(0, left.frames.length)).toEqual(eventsOf(left));
      expect(first!.at(-1)).toMatchObject({ type: 'response.completed' });
    });
  });

  describe('the continuation of a response', () => {
    it('gets what that response got, said and called', async () => {
      const [one, two, three] = [commands('echo hi'), say('two'), say('three')];
      const first = await post(one);
      const second = await post(two, { previous_response_id: first.body.id });
      expect(second.body.previous_response_id).toBe(first.body.id);
      await post(three, { previous_response_id: second.body.id });
      expect(await given(three)).toEqual([one, '', expect.stringContaining('hi'), 'done', two, 'two', three]);
    });

    it('does not get what other continuations said', async () => {
      const [root, left, right] = [say('root'), say('left'), say('right')];
      const { body } = await post(root);
      await post(left, { previous_response_id: body.id });
      const branch = await post(right, { previous_response_id: body.id });
      expect(await given(right)).toEqual([root, 'root', right]);
      expect(branch.body.session_id).not.toBe(body.session_id);
    });

    it('gets everything in its input, after the earlier messages', async () => {
      const conversation = uniqueName('talk');
      const [one, two, three] = [say('one'), say('two'), say('three')];
      const withNews = (prompt: string) => [
        { role: 'user', content: 'news' },
        { role: 'user', content: prompt },
      ];
      const { body } = await post(one, { conversation });
      await post(withNews(two), { previous_response_id: body.id, store: false });
      expect(await given(two)).toEqual([one, 'one', 'news', two]);
      await post(withNews(three), { conversation });
      expect(await given(three)).toEqual([one, 'one', 'news', three]);
      const four = say('four');
      await post(four, { conversation, truncation: 'auto' });
      expect(await given(four)).toEqual([one, 'one', 'news', three, 'three', four]);
    });

    it('gets only its own instructions', async () => {
      const prompt = say('b');
      const { body } = await post(say('a'), { instructions: 'Only once.' });
      await post(prompt, { previous_response_id: body.id });
      const { messages } = (await modelRequest(target(), prompt)).body;
      expect(textOf(messages[0]!)).not.toContain('Only once.');
    });

    it('continues a conversation by name', async () => {
      const conversation = uniqueName('talk');
      const [one, two] = [say('one'), say('two')];
      const { body } = await post(one, { conversation });
      expect(body).toMatchObject({ conversation: { id: conversation }, session_id: conversation });
      await post(two, { conversation: { id: conversation } });
      expect(await given(two)).toEqual([one, 'one', two]);
    });

    it('stores nothing when it is not stored', async () => {
      const conversation = uniqueName('talk');
      const [one, two, three] = [say('one'), say('two'), say('three')];
      await post(one, { conversation });
      const { body } = await post(two, { conversation, store: false });
      expect(await given(two)).toEqual([one, 'one', two]);
      expectError(await api().get(`${PATH}/${body.id}`), { status: 404, code: 'response_not_found' });
      await post(three, { conversation });
      expect(await given(three)).toEqual([one, 'one', three]);
    });

    it('brings its own history instead', async () => {
      const conversation = uniqueName('talk');
      const [two, three] = [say('two'), say('three')];
      await post(say('one'), { conversation });
      await post(two, { conversation, conversation_history: [{ role: 'user', content: 'this' }] });
      expect(await given(two)).toEqual(['this', two]);
      await post(three, { conversation });
      expect(await given(three)).toEqual(['this', two, 'two', three]);
    });

    it('may be a run, which ignores an unknown response', async () => {
      const [one, two, three] = [say('one'), say('two'), say('three')];
      const { body } = await post(one);
      await api().create(two, { previous_response_id: body.id });
      expect(await given(two)).toEqual([one, 'one', two]);
      await api().create(three, { previous_response_id: MISSING });
      expect(await given(three)).toEqual([three]);
    });

    it('may be a run that says more than its prompt', async () => {
      const [one, two, three] = [say('one'), say('two'), say('three')];
      const { body } = await post(one);
      const withNews = (prompt: string) => [
        { role: 'user', content: 'news' },
        { role: 'user', content: prompt },
      ];
      await api().create(withNews(two), { previous_response_id: body.id });
      expect(await given(two)).toEqual([one, 'one', 'news', two]);
      await api().create(withNews(three), { previous_response_id: MISSING, session_id: body.session_id });
      expect(await given(three)).toEqual(['news', three]);
    });
  });

  describe('a response that does not exist', () => {
    it.each([MISSING, 'resp_x', 'run_1', '%20'])('%s', async (id) => {
      const missing = { status: 404, code: 'response_not_found' };
      expectError(await api().get(`${PATH}/${id}`), missing);
      expectError(await api().get(`${PATH}/${id}?stream=true`), missing);
      expectError(await api().request('DELETE', `${PATH}/${id}`), missing);
      expectError(await api().post(`${PATH}/${id}/cancel`), missing);
    });

    it('cannot be continued', async () => {
      expectError(await post<unknown>('x', { previous_response_id: MISSING }), {
        status: 404,
        code: 'previous_response_not_found',
        message: `Previous response not found: ${MISSING}`,
        param: 'previous_response_id',
      });
    });

    it('was deleted', async () => {
      const { body } = await post(say('a'));
      const deleted = await api().request('DELETE', `${PATH}/${body.id}`);
      expect(deleted).toMatchObject({
        status: 200,
        body: { id: body.id, object: 'response', deleted: true },
      });
      expectError(await api().get(`${PATH}/${body.id}`), { status: 404, code: 'response_not_found' });
    });
  });

  describe('a request that is refused', () => {
    it.each<[object, string, string]>([
      [{ input: undefined }, 'missing_input', 'input'],
      [{ input: ' ' }, 'no_user_message', 'input'],
      [{ conversation: 'c', previous_response_id: MISSING }, 'invalid_request', 'conversation'],
      [{ background: true, store: false }, 'invalid_request', 'background'],
      [{ truncation: 'some' }, 'invalid_request', 'truncation'],
      [{ tool_choice: 'required' }, 'invalid_request', 'tool_choice'],
      [{ text: { format: { type: 'xml' } } }, 'invalid_output_schema', 'text.format'],
      [{ stream: 1 }, 'invalid_request', 'stream'],
    ])('%o', async (fields, code, param) => {
      expectError(await post<unknown>('x', fields), { status: 400, code, param });
    });

    it('is not JSON, or has a bad key, which is reported first', async () => {
      expectError(await api().request('POST', PATH, { raw: '{' }), { status: 400, code: 'invalid_json' });
      const answer = await post<unknown>('', {}, { 'idempotency-key': 'a b' });
      expectError(answer, { status: 400, code: 'invalid_idempotency_key' });
    });

    it('leaves no run behind', async () => {
      const before = (await api().list('?limit=1')).data[0]?.run_id;
      await post<unknown>('x', { previous_response_id: MISSING });
      expect((await api().list('?limit=1')).data[0]?.run_id).toBe(before);
    });
  });
}

export function describeResponseSessions(target: GetTarget): void {
  it('a response continues the session that its header names', async () => {
    const api = apiOf(target());
    const headers = { 'x-hermes-session-id': uniqueName('session'), 'x-hermes-session-key': 'user:7' };
    const [one, two] = [say('one'), say('two')];
    const first = await api.post<ResponseObject>(PATH, { input: one }, headers);
    expect(first.body.session_id).toBe(headers['x-hermes-session-id']);
    expect(first.headers.get('x-hermes-session-key')).toBe('user:7');
    await api.post(PATH, { input: two }, headers);
    const { messages } = (await modelRequest(target(), two)).body;
    expect(messages.slice(1).map((message) => textOf(message))).toEqual([one, 'one', two]);
  });
}

export function describeResponseOwnership(target: GetTarget): void {
  it("another key's response does not exist", async () => {
    const { baseUrl, otherKey } = target();
    const other = new CheckedApi(baseUrl, otherKey);
    const { body } = await apiOf(target()).post<ResponseObject>(PATH, { input: say('a'), background: true });
    const missing = { status: 404, code: 'response_not_found' };
    expectError(await other.get(`${PATH}/${body.id}`), missing);
    expectError(await other.get(`${PATH}/${body.id}?stream=true`), missing);
    expectError(await other.request('DELETE', `${PATH}/${body.id}`), missing);
    expectError(await other.post(`${PATH}/${body.id}/cancel`), missing);
    const stolen = await other.post(PATH, { input: 'x', previous_response_id: body.id });
    expectError(stolen, { status: 404, code: 'previous_response_not_found' });
  });
}

/** The events of a stream, each checked: its name, its number, its shape. An error is no event. */
function eventsOf({ frames }: PostedStream, firstNumber = 0): ResponseEvent[] {
  return frames
    .filter(({ event }) => event !== 'error')
    .map(({ event: name, data }, i) => {
      const event = JSON.parse(data) as ResponseEvent;
      const { type, sequence_number, ...payload } = event;
      expect(name).toBe(type);
      expect(sequence_number, 'numbers have no gaps').toBe(firstNumber + i);
      expectShape(schemas.RESPONSE_EVENT_PAYLOADS[type], payload);
      return event;
    });
}
