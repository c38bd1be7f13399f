/** `POST /v1/chat/completions` (PROTOCOL.md). */
import type { ChatCompletion, ChatCompletionChunk } from '@talaria/protocol';
import * as schemas from '@talaria/protocol/schemas';
import { describe, expect, it } from 'vitest';
import { type ChatRequest, script } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import { type PostedStream, type PostedStreamOptions, postStream } from '../support/posted-stream.ts';
import { expectError, expectSecurityHeaders, expectShape } from './checked-api.ts';
import { apiOf, commands, GATED, type GetTarget, modelRequest, say, terminal, uniqueName } from './target.ts';

const PATH = '/v1/chat/completions';
/** The choice of a frame beside the answer. */
const NOTHING = { index: 0, delta: {}, finish_reason: null };
const user = (content: unknown) => ({ role: 'user', content });

export function describeChat(target: GetTarget): void {
  const api = () => apiOf(target());

  const post = <T = ChatCompletion>(
    prompt: unknown,
    fields: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ) => api().post<T>(PATH, { messages: [user(prompt)], ...fields }, headers);

  async function stream(prompt: unknown, options: PostedStreamOptions = {}): Promise<PostedStream> {
    const body = { messages: [user(prompt)], stream: true };
    const streamed = await postStream(api(), PATH, body, options);
    expectSecurityHeaders(streamed.headers);
    return streamed;
  }

  const conversation = async (prompt: string): Promise<[string, string][]> =>
    messagesOf((await modelRequest(target(), prompt)).body);

  describe('a chat completion in one piece', () => {
    it('is the answer of a run, which the header names', async () => {
      const before = Math.floor(Date.now() / 1000) - 1;
      const { status, headers, body } = await post(
        script([{ text: 'four', usage: { input: 7, output: 3 } }]),
        {
          model: 'gpt-anything',
        },
      );
      expect(status).toBe(200);
      expect(body).toMatchObject({
        object: 'chat.completion',
        model: 'gpt-anything',
        choices: [{ index: 0, message: { role: 'assistant', content: 'four' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
      });
      expect(body.id).toMatch(/^chatcmpl-[0-9a-f]{29}$/);
      expect(body.created).toBeGreaterThanOrEqual(before);
      const runId = headers.get('x-talaria-run-id')!;
      expect(runId.startsWith(`run_${body.id.slice('chatcmpl-'.length)}`)).toBe(true);
      expect(await api().run(runId)).toMatchObject({ status: 'completed', output: 'four' });
      expect((await api().list()).data.map(({ run_id }) => run_id)).toContain(runId);
    });

    it('has the name of the server’s model where the request names none', async () => {
      const { data } = (await api().get<{ data: { id: string }[] }>('/v1/models')).body;
      expect((await post(say('a'))).body.model).toBe(data[0]!.id);
    });

    it('has only the answer, without earlier text of the model', async () => {
      const prompt = script([{ text: 'let me see', tools: [terminal('echo hi')] }, { text: 'done' }]);
      expect((await post(prompt)).body.choices[0]!.message.content).toBe('done');
    });

    it.each([
      ['length', 'output_truncated'],
      ['content_filter', 'content_filtered'],
    ] as const)('ends with %s when the run failed as %s', async (finish, code) => {
      const prompt = script([
        { text: 'let me see', tools: [terminal('true')] },
        { text: 'half of', finish },
      ]);
      const { status, headers, body } = await post(prompt);
      expect(status).toBe(200);
      expect(body.choices[0]).toMatchObject({ finish_reason: finish, message: { content: 'half of' } });
      expect(body.usage.total_tokens).toBe(30);
      expect((await api().run(headers.get('x-talaria-run-id')!)).error_code).toBe(code);
    });
  });

  describe('a streamed chat completion', () => {
    it('comes in chunks of one id, ends with the usage and [DONE]', async () => {
      const streamed = await stream(script([{ text: 'one two three', chunks: 3, delayMs: 30 }]));
      expect(streamed.status).toBe(200);
      expect(streamed.headers.get('content-type')).toBe('text/event-stream');
      expect(streamed.headers.get('cache-control')).toBe('no-cache');
      expect(streamed.clean).toBe(true);
      expect(streamed.frames.at(-1)).toEqual({ event: '', data: '[DONE]' });
      const chunks = chunksOf(streamed);
      expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
      expect(chunks[0]!.id).toMatch(/^chatcmpl-[0-9a-f]{29}$/);
      expect(chunks[0]!.choices[0]!.delta.role).toBe('assistant');
      expect(contentOf(streamed)).toBe('one two three');
      expect(chunks.length).toBeGreaterThan(3);
      const [last, ...earlier] = chunks.toReversed();
      expect(last).toMatchObject({
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      });
      for (const { choices } of earlier) expect(choices[0]!.finish_reason).toBeNull();
    });

    it('shows running tools, in frames that any reader of chunks can read', async () => {
      const streamed = await stream(
        script([
          { text: 'I look.', tools: [terminal('echo hi')] },
          { reasoning: 'hm', text: 'I see.' },
        ]),
      );
      const progress = dataOf(streamed, 'hermes.tool.progress');
      for (const frame of progress) expectShape(schemas.ToolProgressSchema, frame);
      for (const frame of progress) expectShape(schemas.ChatCompletionChunkSchema, frame);
      expect(progress).toMatchObject([
        { tool: 'terminal', label: 'echo hi', status: 'running', choices: [NOTHING] },
        { tool: 'terminal', label: 'echo hi', status: 'completed', choices: [NOTHING] },
      ]);
      expect(progress[0]!.toolCallId).toBe(progress[1]!.toolCallId);
      expect(contentOf(streamed), 'steps are parted').toBe('I look.\n\nI see.');
      const thoughts = chunksOf(streamed).map(({ choices }) => choices[0]?.delta.reasoning_content ?? '');
      expect(thoughts.join('')).toBe('hm');
    });

    it('asks for approval, and shows the answer that was given at the run', async () => {
      const streamed = await stream(commands(GATED), {
        onFrame({ event, data }) {
          if (event !== 'hermes.approval.request') return;
          const { run_id, request_id } = JSON.parse(data);
          void api().approve(run_id, 'once', { request_id });
        },
      });
      const [request, ...others] = dataOf(streamed, 'hermes.approval.request');
      expect(others).toEqual([]);
      expectShape(schemas.ChatApprovalRequestSchema, request);
      expect(request).toMatchObject({
        run_id: streamed.headers.get('x-talaria-run-id'),
        command: GATED,
        choices: [NOTHING],
        approval_choices: ['once', 'session', 'always', 'deny'],
      });
      const [responded] = dataOf(streamed, 'hermes.approval.responded');
      expectShape(schemas.ChatApprovalRespondedSchema, responded);
      expect(responded).toMatchObject({ choice: 'once', request_id: request!.request_id });
      const text = contentOf(streamed);
      expect(text, 'what a person reads').toContain(`> ${GATED}`);
      expect(text).toContain(`talaria approve ${request!.run_id}`);
      expect(text).toContain('Approved (once).');
      expect(text.endsWith('done')).toBe(true);
    });

    it('gives frames no name for OpenAI’s own libraries, unless they ask for it', async () => {
      const read = (headers: Record<string, string>) =>
        stream(script([{ tools: [terminal('echo hi')] }, { text: 'ok' }]), {
          headers: { 'user-agent': 'OpenAI/Python 1.93.0', ...headers },
        });
      const plain = await read({});
      expect(plain.frames.map(({ event }) => event).filter(Boolean)).toEqual([]);
      for (const { choices } of chunksOf(plain)) expect(choices).toHaveLength(1);
      expect(chunksOf(plain).filter((chunk) => 'toolCallId' in chunk)).toHaveLength(2);
    });

    it('can be watched as a run meanwhile, with the same text', async () => {
      const gate = uniqueName('watched');
      let watching: Promise<{ frames: { event: object }[] }> | undefined;
      const streamed = await stream(script([{ gate, text: 'for everyone' }]), {
        onHead(headers) {
          watching = api().stream(headers.get('x-talaria-run-id')!, { onFrame: () => {} });
          target().model.open(gate);
        },
      });
      expect(contentOf(streamed)).toBe('for everyone');
      expect((await watching!).frames.at(-1)!.event).toMatchObject({ output: 'for everyone' });
    });
  });

  describe('a run that fails', () => {
    const failing = script([{ error: { status: 401, message: 'bad key sk-secret123456' } }]);
    const failure = {
      type: 'server_error',
      param: null,
      code: 'provider_auth',
      message: expect.not.stringContaining('sk-secret123456'),
    };

    it('is an error with its code, which clients do not retry', async () => {
      const { status, headers, body } = await post<{ error: object }>(failing);
      expect(status).toBe(400);
      expect(body.error).toEqual(failure);
      expect(headers.get('x-should-retry')).toBe('false');
      const run = await api().run(headers.get('x-talaria-run-id')!);
      expect(run).toMatchObject({ status: 'failed', error_code: 'provider_auth' });
    });

    it('ends a stream with an error', async () => {
      const streamed = await stream(failing);
      expect(streamed.status).toBe(200);
      expect(streamed.clean).toBe(true);
      expect(streamed.frames.at(-1)!.data).toBe('[DONE]');
      expect(JSON.parse(streamed.frames.at(-2)!.data)).toMatchObject({
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
        error: failure,
      });
    });

    it.each([false, true])('is not an answer when it was stopped, streamed: %s', async (streamed) => {
      const gate = uniqueName('stopped');
      const prompt = script([{ gate, text: 'never' }]);
      const answer = streamed ? stream(prompt) : post<{ error: object }>(prompt);
      await target().model.waitingAt(gate);
      const [run] = (await api().list('?status=running&limit=1')).data;
      await api().stop(run!.run_id);
      const ended = await answer;
      expect(ended.headers.get('x-talaria-run-id')).toBe(run!.run_id);
      const expected = { code: 'run_cancelled', type: 'invalid_request_error' };
      if ('frames' in ended) {
        expect(JSON.parse(ended.frames.at(-2)!.data)).toMatchObject({ error: expected });
      } else {
        expect(ended.status).toBe(400);
        expect(ended.headers.get('x-should-retry')).toBe('false');
        expect(ended.body.error).toMatchObject(expected);
      }
    });
  });

  describe('the model gets of the messages', () => {
    it('the last user message, after the earlier messages and under the system message', async () => {
      const prompt = say('five');
      const messages = [
        { role: 'system', content: 'Answer in Esperanto.' },
        user('two and two?'),
        { role: 'assistant', content: 'four' },
        user([{ type: 'text', text: prompt }]),
      ];
      expect((await post(null, { messages })).status).toBe(200);
      const [system, ...spoken] = await conversation(prompt);
      expect(system![1]).toMatch(/.+\n\nAnswer in Esperanto\.$/s);
      expect(spoken).toEqual([
        ['user', 'two and two?'],
        ['assistant', 'four'],
        ['user', prompt],
      ]);
    });

    it('images, by URL and inline', async () => {
      const prompt = say('seen');
      const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
      expect((await post([{ type: 'text', text: prompt }, image])).status).toBe(200);
      const { messages } = (await modelRequest(target(), prompt)).body;
      expect(messages.at(-1)!.content).toEqual([expect.objectContaining({ type: 'text' }), image]);
    });

    it('the client’s own tool calls in a form that any model accepts', async () => {
      const prompt = say('rain, then');
      const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } };
      const messages = [
        user('weather?'),
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'rain' },
        user(prompt),
      ];
      expect((await post(null, { messages })).status).toBe(200);
      expect((await conversation(prompt)).slice(1)).toEqual([
        ['user', 'weather?'],
        ['assistant', ''],
        ['tool', 'rain'],
        ['user', prompt],
      ]);
    });
  });

  it('a system message alone is answered', async () => {
    const messages = [{ role: 'system', content: say('alone') }];
    const { status, body } = await post<ChatCompletion>(null, { messages });
    expect(status).toBe(200);
    expect(body.choices[0]!.message.content).toBe('alone');
  });

  describe('a request that is refused', () => {
    it.each([undefined, null, [], 'hello'])('has %o for messages', async (messages) => {
      expectError(await post<unknown>(null, { messages }), {
        status: 400,
        code: 'missing_messages',
        message: "Missing or invalid 'messages' field",
        param: 'messages',
      });
    });

    it('has no message of a user', async () => {
      const messages = [{ role: 'assistant', content: 'x' }];
      expectError(await post<unknown>(null, { messages }), { status: 400, code: 'no_user_message' });
    });

    it.each([
      ['n', 2],
      ['tool_choice', 'required'],
      ['stream', 'yes'],
    ])('asks with %s for what the server cannot give', async (param, value) => {
      const answer = await post<unknown>('x', { [param]: value });
      expectError(answer, { status: 400, code: 'invalid_request', param });
    });

    it('is refused for bad JSON or a bad key before its messages are checked', async () => {
      expectError(await api().request('POST', PATH, { raw: '{' }), { status: 400, code: 'invalid_json' });
      const bad = { 'idempotency-key': 'a b' };
      expectError(await post<unknown>(null, { messages: [] }, bad), {
        status: 400,
        code: 'invalid_idempotency_key',
      });
    });

    it('leaves no run behind', async () => {
      const before = (await api().list('?limit=1')).data[0]?.run_id;
      await post<unknown>('x', { n: 3 });
      expect((await api().list('?limit=1')).data[0]?.run_id).toBe(before);
    });
  });

  describe('an idempotency key', () => {
    it('returns the same answer again, without a second run', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      const prompt = say('once');
      const first = await post(prompt, {}, headers);
      const second = await post(prompt, {}, headers);
      expect(second.body).toEqual(first.body);
      expect(second.headers.get('x-talaria-run-id')).toBe(first.headers.get('x-talaria-run-id'));
      expect(second.headers.get('idempotency-replayed')).toBe('true');
      expect(first.headers.get('idempotency-replayed')).toBeNull();
    });

    it('attaches to an unfinished run', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      const gate = uniqueName('gate');
      const prompt = script([{ gate, text: 'for both' }]);
      const first = post(prompt, {}, headers);
      await target().model.waitingAt(gate);
      const others = [post(prompt, {}, headers), post(prompt, {}, headers)];
      target().model.open(gate);
      const answers = await Promise.all([first, ...others]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    });

    it('returns a failure again, too', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      const prompt = script([{ error: { status: 400, message: 'no' } }]);
      const [first, second] = [await post(prompt, {}, headers), await post(prompt, {}, headers)];
      expect(first.status).toBe(400);
      expect(second.body).toEqual(first.body);
      expect(second.headers.get('x-talaria-run-id')).toBe(first.headers.get('x-talaria-run-id'));
    });

    it('returns a stream again from its beginning', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      const prompt = script([{ text: 'a', tools: [terminal('true')] }, { text: 'b' }]);
      const [first, second] = [await stream(prompt, { headers }), await stream(prompt, { headers })];
      expect(contentOf(second)).toBe(contentOf(first));
      expect(chunksOf(second)[0]).toEqual(chunksOf(first)[0]);
    });

    it('is refused for another request, and is separate for each route', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      await post(say('one'), {}, headers);
      const other = await post<unknown>(say('two'), {}, headers);
      expectError(other, { status: 409, code: 'idempotency_key_conflict' });
      const run = await api().post<{ replayed: boolean }>('/v1/runs', { input: 'x' }, headers);
      expect(run.body.replayed).toBe(false);
    });
  });

  it('a session header on an open server is refused', async ({ skip }) => {
    if (target().key !== undefined) skip('this server has a key');
    for (const name of ['X-Hermes-Session-Id', 'X-Hermes-Session-Key']) {
      const answer = await post<unknown>('x', {}, { [name]: 'a' });
      expectError(answer, { status: 403, code: 'session_needs_key', param: name });
    }
  });
}

export function describeChatSessions(target: GetTarget): void {
  const api = () => apiOf(target());
  const post = (prompt: unknown, headers: Record<string, string>, fields: object = {}) =>
    api().post<ChatCompletion>(PATH, { messages: [user(prompt)], ...fields }, headers);

  describe('the session headers of a chat completion', () => {
    it('always give an id, which continues where the conversation ended', async () => {
      const [one, two] = [say('one'), say('two')];
      const first = await post(one, {});
      const id = first.headers.get('x-hermes-session-id')!;
      expect(id).not.toBe('');
      const second = await post(two, { 'x-hermes-session-id': id });
      expect(second.headers.get('x-hermes-session-id')).toBe(id);
      expect(messagesOf((await modelRequest(target(), two)).body).slice(1)).toEqual([
        ['user', one],
        ['assistant', 'one'],
        ['user', two],
      ]);
    });

    it('use the stored transcript, and only the last message of the body', async () => {
      const headers = { 'x-hermes-session-id': uniqueName('session') };
      const [one, two] = [say('one'), say('two')];
      await post(one, headers);
      const messages = [user('not this'), { role: 'assistant', content: 'nor that' }, user(two)];
      await post(null, headers, { messages });
      const spoken = messagesOf((await modelRequest(target(), two)).body).slice(1);
      expect(spoken).toEqual([
        ['user', one],
        ['assistant', 'one'],
        ['user', two],
      ]);
    });

    it('echo the key, and name the session of the run', async () => {
      const headers = { 'x-hermes-session-id': uniqueName('session'), 'x-hermes-session-key': 'user:7' };
      const answer = await post(say('a'), headers);
      expect(answer.headers.get('x-hermes-session-key')).toBe('user:7');
      const run = await api().run(answer.headers.get('x-talaria-run-id')!);
      expect(run.session_id).toBe(headers['x-hermes-session-id']);
    });

    it.each(['x-hermes-session-id', 'x-hermes-session-key'])('are refused: %s', async (name) => {
      for (const value of ['a\tb', 'x'.repeat(257)]) {
        const answer = await post('x', { [name]: value });
        expectError(answer, { status: 400, code: 'invalid_request' });
      }
    });
  });
}

function chunksOf({ frames }: PostedStream): ChatCompletionChunk[] {
  const chunks = frames.filter(({ event, data }) => event === '' && data !== '[DONE]');
  return chunks.map(({ data }) => {
    const chunk = JSON.parse(data) as ChatCompletionChunk;
    expectShape(schemas.ChatCompletionChunkSchema, chunk);
    return chunk;
  });
}

function contentOf(streamed: PostedStream): string {
  return chunksOf(streamed)
    .map(({ choices }) => choices[0]?.delta.content ?? '')
    .join('');
}

function dataOf({ frames }: PostedStream, name: string): Record<string, unknown>[] {
  return frames.filter(({ event }) => event === name).map(({ data }) => JSON.parse(data));
}

function messagesOf({ messages }: ChatRequest): [string, string][] {
  return messages.map((message) => [message.role, textOf(message)]);
}
