/** The adapter against a real HTTP server that speaks chat completions. */
import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ModelServer,
  type Step,
  script,
  startModelServer,
} from '../../../../../test/support/model-server.ts';
import type { Message } from '../../journal/messages.ts';
import { createModel } from './create-model.ts';
import type { Model, ModelErrorCode } from './model.ts';
import { collect, collectFailure, toRequest, withResults } from './testing/replay-server.ts';

const KEY = 'key-5f1c8a7e';
let server: ModelServer;
let model: Model;

beforeAll(async () => {
  server = await startModelServer();
  model = createModel({ baseUrl: server.url, apiKey: KEY, model: 'meta-llama/Llama-3' });
});
afterAll(() => server.close());

const play = (step: Step) => collect(model, { prompt: script([step]) });
const fail = (step: Step) => collectFailure(model, { prompt: script([step]) });

describe('content', () => {
  test('text arrives in deltas, and again as a whole in the finish', async () => {
    const { parts, text, finish } = await play({ text: 'one two three 🪽', chunks: 4, delayMs: 20 });
    // Those that arrive together come as one.
    expect(parts.filter((part) => part.type === 'text').length).toBeGreaterThan(1);
    expect(text).toBe('one two three 🪽');
    expect(finish.content).toEqual([{ type: 'text', text }]);
    expect(finish.reason).toBe('stop');
  });

  test('reasoning streams, is shown once it is complete, and comes before the text', async () => {
    const { parts, finish } = await play({ reasoning: 'let me think', text: 'yes' });
    expect(parts.filter((part) => part.type === 'reasoning_done')).toEqual([
      { type: 'reasoning_done', text: 'let me think' },
    ]);
    const types = parts.map((part) => part.type);
    expect(types.indexOf('reasoning_done')).toBeLessThan(types.indexOf('text'));
    expect(finish.content).toEqual([
      { type: 'reasoning', text: 'let me think' },
      { type: 'text', text: 'yes' },
    ]);
  });

  test('parallel tool calls keep their order and their arguments as written, also malformed ones', async () => {
    const { finish } = await play({
      text: 'working',
      tools: [
        { name: 'terminal', arguments: { command: 'ls' }, id: 'a' },
        { name: 'terminal', arguments: '{"command": "ls', id: 'b' },
        { name: 'list', arguments: '', id: 'c' },
      ],
    });
    expect(finish.reason).toBe('tool_calls');
    expect(finish.content).toEqual([
      { type: 'text', text: 'working' },
      { type: 'tool_call', id: 'a', tool: 'terminal', arguments: '{"command":"ls"}' },
      { type: 'tool_call', id: 'b', tool: 'terminal', arguments: '{"command": "ls' },
      { type: 'tool_call', id: 'c', tool: 'list', arguments: '{}' },
    ]);
  });

  test('calls of one step with the same id get different ids', async () => {
    const tools = ['x', 'x'].map((id) => ({ name: 'list', arguments: {}, id }));
    const { finish } = await play({ tools });
    const ids = finish.content.map((part) => part.type === 'tool_call' && part.id);
    expect(new Set(ids).size).toBe(2);
  });

  test('arguments of a call count as progress while they stream', async () => {
    const { parts } = await play({ tools: [{ name: 'list', arguments: { path: '/a/long/path' } }] });
    const streamed = parts.filter((part) => part.type === 'tool_input').map((part) => part.delta);
    expect(streamed.join('')).toBe('{"path":"/a/long/path"}');
  });

  test('a tool call id that an earlier step used is changed, and the provider sees the new id', async () => {
    const tools = [{ name: 'terminal', arguments: { command: 'ls' }, id: 'call_0' }];
    let messages: Message[] = [{ role: 'user', content: script([{ tools }, { tools }, { text: 'end' }]) }];
    for (const expected of ['call_0', 'call_0_2']) {
      const { finish } = await collect(model, { messages });
      expect(finish.content).toMatchObject([{ type: 'tool_call', id: expected }]);
      messages = withResults(messages, finish.content, 'out');
    }
    expect((await collect(model, { messages })).text).toBe('end');
    const sent = server.requests.at(-1)?.body.messages as { tool_call_id?: string }[];
    expect(sent.flatMap((message) => message.tool_call_id ?? [])).toEqual(['call_0', 'call_0_2']);
  });

  test('an empty answer is a finish without content', async () => {
    const { parts, finish } = await play({ empty: true });
    expect(parts).toHaveLength(1);
    expect(finish).toMatchObject({ content: [], reason: 'stop' });
  });

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
  ] as const)('finish reason %s', async (sent, expected) => {
    expect((await play({ text: 'x', finish: sent })).finish.reason).toBe(expected);
  });

  test('tool calls that come with the reason stop still count as tool calls', async () => {
    const { finish } = await play({ tools: [{ name: 'terminal', arguments: {} }], finish: 'stop' });
    expect(finish.reason).toBe('tool_calls');
  });

  test("usage is the provider's own count", async () => {
    const { finish } = await play({ text: 'x', usage: { input: 1234, output: 56 } });
    expect(finish.usage).toEqual({ input_tokens: 1234, output_tokens: 56, total_tokens: 1290 });
  });
});

describe('request', () => {
  test('carries the whole model name, the key, the tools and the request for usage', async () => {
    const { finish } = await collect(model, { prompt: 'hello' });
    expect(finish.content).toEqual([{ type: 'text', text: 'You said: hello' }]);
    const { body, headers } = server.requests.at(-1) ?? {};
    expect(body?.model).toBe('meta-llama/Llama-3');
    expect(body?.stream_options).toEqual({ include_usage: true });
    expect(body?.tools?.map((tool) => tool.function.name)).toEqual(['terminal']);
    expect(headers?.authorization).toBe(`Bearer ${KEY}`);
  });

  test('has the tools of its own step, whatever the steps before it had', async () => {
    const parameters = { type: 'object', properties: {} };
    const read = { name: 'read', description: 'Reads', parameters };
    const steps = [
      [read],
      [{ ...read }],
      [{ ...read, strict: true as const }],
      [{ ...read, description: 'Reads a file' }],
      [{ ...read, parameters: { ...parameters, required: ['path'] } }],
      [read, { ...read, name: 'write' }],
      [read],
    ];
    for (const tools of steps) {
      await collect(model, { prompt: 'hello', tools });
      const sent = server.requests.at(-1)?.body?.tools?.map((tool) => tool.function);
      expect(sent).toEqual(tools);
    }
  });

  test('has no tools when there are none', async () => {
    await collect(model, { prompt: 'hello', tools: [] });
    expect(server.requests.at(-1)?.body).not.toHaveProperty('tools');
    expect(server.requests.at(-1)?.body).not.toHaveProperty('tool_choice');
  });

  test('sends back a whole conversation: calls, results, reasoning, malformed arguments', async () => {
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: script([{}, { text: 'end' }]) },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'tool_call', id: 'a', tool: 'terminal', arguments: '{"command":"ls"}' },
          { type: 'tool_call', id: 'b', tool: 'terminal', arguments: '{"command' },
        ],
      },
      { role: 'tool', tool_call_id: 'a', tool: 'terminal', output: 'file', is_error: false },
      { role: 'tool', tool_call_id: 'b', tool: 'terminal', output: 'not JSON', is_error: true },
      { role: 'user', content: 'and hurry' },
    ];
    expect((await collect(model, { messages })).text).toBe('end');
    const sent = server.requests.at(-1)?.body.messages as unknown as Record<string, unknown>[];
    expect(sent.map((message) => message.role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'user',
    ]);
    const calls = sent[2]?.tool_calls as { function: { arguments: string } }[];
    expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual([
      { command: 'ls' },
      { malformed_arguments: '{"command' },
    ]);
    expect(sent[3]).toMatchObject({ tool_call_id: 'a', content: 'file' });
    expect(sent[4]).toMatchObject({ tool_call_id: 'b', content: 'not JSON' });
  });

  test('a step reuses the connection of the step before', async () => {
    const ports = new Set<string | undefined>();
    for (let i = 0; i < 3; i++) {
      await play({ text: 'x' });
      ports.add(server.requests.at(-1)?.clientPort?.toString());
    }
    expect(ports.size).toBe(1);
  });
});

describe('failure', () => {
  const cases: [string, Step, ModelErrorCode, boolean][] = [
    ['401', { error: { status: 401, message: 'no' } }, 'provider_auth', false],
    ['403', { error: { status: 403, message: 'no' } }, 'provider_auth', false],
    ['429', { error: { status: 429, message: 'slow down' } }, 'provider_rate_limit', true],
    [
      'a spent quota',
      { error: { status: 429, message: 'pay', code: 'insufficient_quota' } },
      'provider_rate_limit',
      false,
    ],
    ['408', { error: { status: 408, message: 'late' } }, 'provider_unavailable', true],
    ['409', { error: { status: 409, message: 'conflict' } }, 'provider_unavailable', true],
    ['500', { error: { status: 500, message: 'oops' } }, 'provider_unavailable', true],
    ['503', { error: { status: 503, message: 'busy' } }, 'provider_unavailable', true],
    ['400', { error: { status: 400, message: 'bad' } }, 'provider_bad_request', false],
    ['404', { error: { status: 404, message: 'no such model' } }, 'provider_bad_request', false],
    ['422', { error: { status: 422, message: 'bad' } }, 'provider_bad_request', false],
    ['418', { error: { status: 418, message: 'teapot' } }, 'provider_error', false],
    [
      'a prompt that is too long',
      { error: { status: 400, message: 'too long', code: 'context_length_exceeded' } },
      'context_overflow',
      false,
    ],
    [
      'a filtered prompt',
      { error: { status: 400, message: 'filtered', code: 'content_filter' } },
      'content_filtered',
      false,
    ],
    ['a connection closed at once', { disconnect: 'before' }, 'provider_unavailable', true],
    ['a connection lost in the stream', { text: 'abc', disconnect: 'mid' }, 'provider_unavailable', true],
    ['a stream without an end', { text: 'abc', truncated: true }, 'provider_unavailable', true],
    ['a stream that is not JSON', { text: 'abc', malformed: true }, 'provider_error', true],
    [
      'an error in the stream',
      { text: 'abc', streamError: { message: 'overloaded', type: 'overloaded_error' } },
      'provider_unavailable',
      true,
    ],
  ];

  test.each(cases)('%s', async (_, step, code, retryable) => {
    const { error, parts } = await fail(step);
    expect(error).toMatchObject({ code, retryable });
    expect(parts.some((part) => part.type === 'finish')).toBe(false);
    // Output before the failure was shown, because nobody can know that a failure will follow.
    expect(parts.some((part) => part.type === 'text')).toBe(step.text !== undefined);
    const message = step.error?.message ?? step.streamError?.message;
    if (message) expect(error.message).toBe(message);
  });

  test('an unreachable server is unavailable', async () => {
    const gone = await startModelServer();
    await gone.close();
    const { error } = await collectFailure(createModel({ baseUrl: gone.url }), { prompt: 'x' });
    expect(error).toMatchObject({ code: 'provider_unavailable', retryable: true });
    expect(error.message).toBe(`Cannot reach the model provider at 127.0.0.1:${gone.port} (ECONNREFUSED).`);
  });

  test('a host name that does not exist is unavailable', async () => {
    const { error } = await collectFailure(createModel({ baseUrl: 'http://model.invalid/v1' }), {
      prompt: 'x',
    });
    expect(error).toMatchObject({ code: 'provider_unavailable', retryable: true });
  });

  test('passes on the delay that the provider asks for: seconds, milliseconds, date', async () => {
    const ask = (wait: object) => fail({ error: { status: 429, message: 'wait', ...wait } });
    expect((await ask({ retryAfter: 7 })).error.retryAfterMs).toBe(7000);
    expect((await ask({ retryAfter: 7, retryAfterMs: 120 })).error.retryAfterMs).toBe(120);
    const date = new Date(Date.now() + 60_000).toUTCString();
    const waitMs = (await ask({ retryAfter: date })).error.retryAfterMs ?? 0;
    expect(waitMs).toBeGreaterThan(50_000);
    expect(waitMs).toBeLessThanOrEqual(60_000);
    expect((await ask({ retryAfter: 'soon' })).error.retryAfterMs).toBeUndefined();
  });

  test('neither the key nor the prompt appears anywhere in the error', async () => {
    const prompt = script([{ error: { status: 401, message: `Bad key ${KEY}, header Bearer abcdef123` } }]);
    const { error } = await collectFailure(model, { prompt });
    expect(error.message).toBe('Bad key [redacted], header Bearer [redacted]');
    const everything = JSON.stringify([error.message, error.cause, error.stack]);
    expect(everything).not.toContain(KEY);
    expect(everything).not.toContain('SCRIPT');
  });

  test('a step that failed once can succeed on the next try', async () => {
    const prompt = script([{ error: { status: 500, message: 'oops' }, times: 1, text: 'fine' }]);
    expect((await collectFailure(model, { prompt })).error.code).toBe('provider_unavailable');
    expect((await collect(model, { prompt })).text).toBe('fine');
  });
});

describe('abort', () => {
  test.each(['before', 'mid'] as const)(
    'ends a request that hangs (%s) and closes its connection',
    async (hang) => {
      const prompt = script([{ text: 'abc', hang }]);
      const abort = new AbortController();
      const step = collectFailure(model, { prompt, signal: abort.signal });
      const request = await server.waitForRequest((seen) => prompt.includes(seen.scriptId ?? '-'));
      abort.abort(new Error('stopped by the user'));
      expect((await step).error).toMatchObject({
        retryable: false,
        message: 'The model request was aborted.',
      });
      await server.waitForRequest((seen) => seen === request && seen.aborted);
    },
  );

  test('sends nothing when aborted before the start', async () => {
    const before = server.requests.length;
    await collectFailure(model, { prompt: 'x', signal: AbortSignal.abort() });
    expect(server.requests.length).toBe(before);
  });

  test('leaving the iteration closes the connection too', async () => {
    const prompt = script([{ text: 'abcdef', chunks: ['abc', { gate: 'never' }, 'def'] }]);
    for await (const part of model.streamStep(toRequest({ prompt }))) {
      expect(part).toEqual({ type: 'text', delta: 'abc' });
      break;
    }
    await server.waitForRequest((seen) => prompt.includes(seen.scriptId ?? '-') && seen.aborted);
  });

  test('leaves no listener on the signal of the run', async () => {
    const { signal } = new AbortController();
    await collect(model, { prompt: 'x', signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
