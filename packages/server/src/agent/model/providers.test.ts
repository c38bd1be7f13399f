/**
 * Each named provider against a small server that speaks its stream format. The model's output comes out in order, and
 * the data that the provider needs again on the next step (signatures, encrypted reasoning) is sent back.
 */
import type { ModelSettings } from '@talaria/protocol';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../journal/messages.ts';
import { createModel } from './create-model.ts';
import type { Model } from './model.ts';
import {
  collect,
  collectFailure,
  type ReplayServer,
  SILENCE,
  startReplayServer,
  toRequest,
  withResults,
} from './testing/replay-server.ts';

const PROMPT: Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'List the files.' },
];

/** Two steps: the model thinks, speaks and calls a tool; then it sees the result and ends. */
async function converse(model: Model) {
  const first = await collect(model, { messages: PROMPT });
  const messages = withResults(PROMPT, first.finish.content, 'a.txt');
  // Through JSON, as a recovered run would read it from the journal.
  const second = await collect(model, { messages: JSON.parse(JSON.stringify(messages)) as Message[] });
  return { first, second };
}

/** Stops the step at its first text; that must close the provider's connection. */
async function abortAtText(model: Model, server: ReplayServer) {
  const abort = new AbortController();
  const read = async () => {
    for await (const part of model.streamStep(toRequest({ messages: PROMPT, signal: abort.signal }))) {
      if (part.type === 'text') abort.abort();
    }
  };
  await expect(read()).rejects.toMatchObject({ name: 'ModelError', retryable: false });
  await server.requests[0]?.closed;
}

/** Leaves the iteration at its first text, without an abort. */
async function leaveAtText(model: Model, server: ReplayServer) {
  for await (const part of model.streamStep(toRequest({ messages: PROMPT }))) if (part.type === 'text') break;
  await server.requests[0]?.closed;
}

describe('anthropic', () => {
  const create = (server: ReplayServer) =>
    createModel({
      model: 'anthropic/claude-sonnet-4-5',
      anthropicApiKey: 'test-key-anthropic',
      providerUrls: { anthropic: server.url },
    });

  const start = {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 12, output_tokens: 1, cache_read_input_tokens: 100 },
    },
  };
  const block = (index: number, content_block: object, deltas: object[]) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const end = (stop_reason: string) => [
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: 'message_stop' },
  ];

  test('thinking with its signature, text and a tool call', async () => {
    await using server = await startReplayServer([
      [
        start,
        ...block(0, { type: 'thinking', thinking: '', signature: '' }, [
          { type: 'thinking_delta', thinking: 'They want ' },
          { type: 'thinking_delta', thinking: 'files.' },
          { type: 'signature_delta', signature: 'SIGNATURE' },
        ]),
        ...block(1, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'Looking.' }]),
        ...block(2, { type: 'tool_use', id: 'toolu_1', name: 'terminal', input: {} }, [
          { type: 'input_json_delta', partial_json: '{"comm' },
          { type: 'input_json_delta', partial_json: 'and":"ls"}' },
        ]),
        ...end('tool_use'),
      ],
      [
        start,
        ...block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'a.txt' }]),
        ...end('end_turn'),
      ],
    ]);
    const { first, second } = await converse(create(server));

    expect(first.finish.content).toEqual([
      { type: 'reasoning', text: 'They want files.', metadata: { anthropic: { signature: 'SIGNATURE' } } },
      { type: 'text', text: 'Looking.' },
      expect.objectContaining({
        type: 'tool_call',
        id: 'toolu_1',
        tool: 'terminal',
        arguments: '{"command":"ls"}',
      }),
    ]);
    expect(first.finish.reason).toBe('tool_calls');
    // Cached input was read as well, so it counts.
    expect(first.finish.usage).toMatchObject({ input_tokens: 112, output_tokens: 20, total_tokens: 132 });
    expect(first.parts).toContainEqual({ type: 'reasoning_done', text: 'They want files.' });
    expect(second.finish).toMatchObject({ content: [{ type: 'text', text: 'a.txt' }], reason: 'stop' });

    const [request, next] = server.requests;
    expect(request?.path).toBe('/messages');
    expect(request?.headers['x-api-key']).toBe('test-key-anthropic');
    expect(request?.body).toMatchObject({
      stream: true,
      cache_control: { type: 'ephemeral' },
      system: [{ type: 'text', text: 'Be brief.' }],
      tools: [{ name: 'terminal' }],
    });
    expect(next?.body.messages).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'They want files.', signature: 'SIGNATURE' },
          { type: 'text', text: 'Looking.' },
          { type: 'tool_use', id: 'toolu_1', input: { command: 'ls' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'a.txt' }] },
    ]);
  });

  test('an abort, or leaving the iteration, closes the connection', async () => {
    const [open = {}, delta = {}] = block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'a' }]);
    for (const end of [abortAtText, leaveAtText]) {
      await using server = await startReplayServer([[start, open, delta, SILENCE]]);
      await end(create(server), server);
    }
  });

  test('the connection is reused, although the finish comes before the end of the response', async () => {
    const text = block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'a' }]);
    const answer = [start, ...text, ...end('end_turn')];
    await using server = await startReplayServer([answer, answer, answer]);
    const model = create(server);
    for (let step = 0; step < 3; step++) {
      await collect(model, { messages: PROMPT });
      await server.requests[step]?.closed;
    }
    // The client may see the end of one response only during the next step, so the third is the one that must reuse.
    expect(new Set(server.requests.map((request) => request.clientPort)).size).toBeLessThan(3);
  });

  test('redacted thinking goes back although it has no text', async () => {
    await using server = await startReplayServer([
      [
        start,
        ...block(0, { type: 'redacted_thinking', data: 'OPAQUE' }, []),
        ...block(1, { type: 'tool_use', id: 'toolu_1', name: 'terminal', input: {} }, [
          { type: 'input_json_delta', partial_json: '{}' },
        ]),
        ...end('tool_use'),
      ],
      [
        start,
        ...block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'ok' }]),
        ...end('end_turn'),
      ],
    ]);
    await converse(create(server));
    expect(server.requests[1]?.body.messages).toMatchObject([
      {},
      { content: [{ type: 'redacted_thinking', data: 'OPAQUE' }, { type: 'tool_use' }] },
      {},
    ]);
  });

  test('errors: by status, in the stream, and a stream that just ends', async () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    await using server = await startReplayServer([
      {
        status: 401,
        body: { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
      },
      [start, ...block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'a' }]), overloaded],
      [start, ...block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'a' }])],
    ]);
    const fail = async () => (await collectFailure(create(server), { messages: PROMPT })).error;
    expect(await fail()).toMatchObject({ code: 'provider_auth', message: 'invalid x-api-key' });
    expect(await fail()).toMatchObject({
      code: 'provider_unavailable',
      retryable: true,
      message: 'Overloaded',
    });
    expect(await fail()).toMatchObject({ code: 'provider_unavailable', retryable: true });
  });
});

describe('google', () => {
  const create = (server: ReplayServer) =>
    createModel({
      model: 'google/gemini-2.5-flash',
      googleApiKey: 'test-key-google',
      providerUrls: { google: server.url },
    });
  const chunk = (parts: object[], rest: object = {}) => ({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...rest }],
    usageMetadata: {
      promptTokenCount: 9,
      candidatesTokenCount: 4,
      thoughtsTokenCount: 3,
      totalTokenCount: 16,
    },
  });

  test('thoughts, text and a tool call with its thought signature', async () => {
    await using server = await startReplayServer([
      [
        chunk([{ text: 'They want files.', thought: true }]),
        chunk([{ text: 'Look' }]),
        chunk([{ text: 'ing.' }]),
        chunk(
          [{ functionCall: { name: 'terminal', args: { command: 'ls' } }, thoughtSignature: 'SIGNATURE' }],
          {
            finishReason: 'STOP',
          },
        ),
      ],
      [chunk([{ text: 'a.txt' }], { finishReason: 'STOP' })],
    ]);
    const { first, second } = await converse(create(server));

    expect(first.finish.content).toMatchObject([
      { type: 'reasoning', text: 'They want files.' },
      { type: 'text', text: 'Looking.' },
      { type: 'tool_call', tool: 'terminal', arguments: '{"command":"ls"}' },
    ]);
    expect(first.finish.reason).toBe('tool_calls');
    expect(first.finish.usage).toMatchObject({ input_tokens: 9, output_tokens: 7, total_tokens: 16 });
    expect(second.finish).toMatchObject({ content: [{ type: 'text', text: 'a.txt' }], reason: 'stop' });

    const [request, next] = server.requests;
    expect(request?.path).toBe('/models/gemini-2.5-flash:streamGenerateContent?alt=sse');
    expect(request?.headers['x-goog-api-key']).toBe('test-key-google');
    const contents = next?.body.contents as { role: string; parts: object[] }[];
    expect(contents.map((content) => content.role)).toEqual(['user', 'model', 'user']);
    expect(contents[1]?.parts).toContainEqual(
      expect.objectContaining({
        functionCall: expect.objectContaining({ name: 'terminal', args: { command: 'ls' } }),
        thoughtSignature: 'SIGNATURE',
      }),
    );
    expect(JSON.stringify(contents[2]?.parts)).toContain('a.txt');
  });

  test('an abort, or leaving the iteration, closes the connection', async () => {
    for (const end of [abortAtText, leaveAtText]) {
      await using server = await startReplayServer([[chunk([{ text: 'a' }]), SILENCE]]);
      await end(create(server), server);
    }
  });

  test('errors: a wrong key, a rate limit with a delay, and a stream that just ends', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12s' }];
    await using server = await startReplayServer([
      {
        status: 400,
        body: { error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' } },
      },
      {
        status: 429,
        body: { error: { code: 429, message: 'Too fast', status: 'RESOURCE_EXHAUSTED', details } },
      },
      [chunk([{ text: 'a' }])],
    ]);
    const fail = async () => (await collectFailure(create(server), { messages: PROMPT })).error;
    expect(await fail()).toMatchObject({ code: 'provider_auth', message: 'API key not valid.' });
    expect(await fail()).toMatchObject({
      code: 'provider_rate_limit',
      retryable: true,
      retryAfterMs: 12_000,
    });
    expect(await fail()).toMatchObject({ code: 'provider_unavailable', retryable: true });
  });
});

describe('openai', () => {
  const create = (server: ReplayServer) =>
    createModel({ model: 'openai/gpt-5', apiKey: 'test-key-openai', providerUrls: { openai: server.url } });

  const created = { type: 'response.created', response: { id: 'resp_1', created_at: 1, model: 'gpt-5' } };
  const usage = { input_tokens: 30, output_tokens: 8, total_tokens: 38 };
  const completed = { type: 'response.completed', response: { id: 'resp_1', usage } };
  const message = (output_index: number, text: string) => [
    { type: 'response.output_item.added', output_index, item: { type: 'message', id: 'msg_1' } },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index, delta: text },
    { type: 'response.output_item.done', output_index, item: { type: 'message', id: 'msg_1' } },
  ];

  test.each([
    [{}, { type: 'json_object' }],
    [
      { schema: { type: 'object', properties: { a: { type: 'string' } } }, name: 'thing' },
      { type: 'json_schema', name: 'thing', strict: false },
    ],
    [
      { schema: { type: 'object' }, name: 'no name for OpenAI', strict: true as const },
      { type: 'json_schema', name: 'response', strict: true },
    ],
    [{ schema: { type: 'array' } }, undefined],
    [{ schema: { anyOf: [{ type: 'object' }] } }, undefined],
  ])('the format %j is requested as far as OpenAI accepts it', async (outputForm, format) => {
    await using server = await startReplayServer([[created, ...message(0, '{}'), completed]]);
    await collect(create(server), { messages: PROMPT, outputForm });
    const { text } = server.requests[0]!.body as { text?: { format?: object } };
    if (format === undefined) expect(text?.format).toBeUndefined();
    else expect(text?.format).toMatchObject(format);
  });

  test('encrypted reasoning, text and a tool call, with nothing stored at the provider', async () => {
    const call = {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'terminal',
      status: 'completed',
    };
    const reasoning = { type: 'reasoning', id: 'rs_1' };
    await using server = await startReplayServer([
      [
        created,
        { type: 'response.output_item.added', output_index: 0, item: reasoning },
        { type: 'response.reasoning_summary_part.added', item_id: 'rs_1', summary_index: 0 },
        {
          type: 'response.reasoning_summary_text.delta',
          item_id: 'rs_1',
          summary_index: 0,
          delta: 'They want files.',
        },
        { type: 'response.reasoning_summary_part.done', item_id: 'rs_1', summary_index: 0 },
        {
          type: 'response.output_item.done',
          output_index: 0,
          item: { ...reasoning, encrypted_content: 'OPAQUE' },
        },
        ...message(1, 'Looking.'),
        { type: 'response.output_item.added', output_index: 2, item: { ...call, arguments: '' } },
        {
          type: 'response.function_call_arguments.delta',
          item_id: 'fc_1',
          output_index: 2,
          delta: '{"command":"ls"}',
        },
        {
          type: 'response.output_item.done',
          output_index: 2,
          item: { ...call, arguments: '{"command":"ls"}' },
        },
        completed,
      ],
      [created, ...message(0, 'a.txt'), completed],
    ]);
    const { first, second } = await converse(create(server));

    expect(first.finish.content).toMatchObject([
      { type: 'reasoning', text: 'They want files.' },
      { type: 'text', text: 'Looking.' },
      { type: 'tool_call', id: 'call_1', tool: 'terminal', arguments: '{"command":"ls"}' },
    ]);
    expect(first.finish).toMatchObject({ usage, reason: 'tool_calls' });
    expect(second.finish).toMatchObject({ content: [{ type: 'text', text: 'a.txt' }], reason: 'stop' });

    const [request, next] = server.requests;
    expect(request?.path).toBe('/responses');
    expect(request?.headers.authorization).toBe('Bearer test-key-openai');
    expect(request?.body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
    const input = next?.body.input as { type?: string }[];
    expect(input.map((item) => item.type ?? 'message')).toEqual([
      'message',
      'message',
      'reasoning',
      'message',
      'function_call',
      'function_call_output',
    ]);
    expect(input[2]).toMatchObject({ encrypted_content: 'OPAQUE' });
    expect(input[5]).toMatchObject({ call_id: 'call_1', output: 'a.txt' });
  });

  test('an abort, or leaving the iteration, closes the connection', async () => {
    for (const end of [abortAtText, leaveAtText]) {
      await using server = await startReplayServer([[created, ...message(0, 'a'), SILENCE]]);
      await end(create(server), server);
    }
  });

  test('errors: an exhausted quota, one in the stream, and a stream that just ends', async () => {
    const quota = {
      message: 'You exceeded your current quota',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    };
    await using server = await startReplayServer([
      { status: 429, body: { error: quota } },
      [
        created,
        ...message(0, 'a'),
        {
          type: 'error',
          sequence_number: 1,
          error: { type: 'server_error', code: 'server_error', message: 'Sorry' },
        },
      ],
      [created, ...message(0, 'a')],
    ]);
    const fail = async () => (await collectFailure(create(server), { messages: PROMPT })).error;
    expect(await fail()).toMatchObject({
      code: 'provider_rate_limit',
      retryable: false,
      message: quota.message,
    });
    expect(await fail()).toMatchObject({ code: 'provider_unavailable', retryable: true, message: 'Sorry' });
    expect(await fail()).toMatchObject({ code: 'provider_unavailable', retryable: true });
  });
});

describe('settings of the model', () => {
  const VALUES: Required<ModelSettings> = {
    temperature: 0.5,
    top_p: 0.5,
    max_output_tokens: 77,
    stop: ['END'],
    seed: 7,
    presence_penalty: 0.5,
    frequency_penalty: 0.5,
    reasoning_effort: 'low',
    verbosity: 'low',
    service_tier: 'flex',
    logit_bias: { 50256: -100 },
  };

  const MODELS: [name: string, create: (url: string) => Model][] = [
    ['openai', (openai) => createModel({ model: 'openai/gpt-5', apiKey: 'k', providerUrls: { openai } })],
    [
      'openai before reasoning',
      (openai) => createModel({ model: 'openai/gpt-4.1', apiKey: 'k', providerUrls: { openai } }),
    ],
    [
      'anthropic',
      (anthropic) =>
        createModel({
          model: 'anthropic/claude-opus-4-5',
          anthropicApiKey: 'k',
          providerUrls: { anthropic },
        }),
    ],
    [
      'google',
      (google) =>
        createModel({ model: 'google/gemini-3.5-flash', googleApiKey: 'k', providerUrls: { google } }),
    ],
    ['compatible', (baseUrl) => createModel({ model: 'any', baseUrl })],
  ];

  test.each(MODELS)('%s: ignored settings never reach the provider', async (_, create) => {
    await using server = await startReplayServer([]);
    const model = create(server.url);
    const bodyWith = async (settings: ModelSettings) => {
      await collectFailure(model, { messages: PROMPT, settings });
      return server.requests.at(-1)?.body;
    };
    const plain = await bodyWith({});
    for (const [name, value] of Object.entries(VALUES)) {
      const body = await bodyWith({ [name]: value });
      const ignored = (model.ignoredSettings as readonly string[]).includes(name);
      if (ignored) expect(body, name).toEqual(plain);
      else if (!DEPENDS_ON_MODEL.has(name)) expect(body, name).not.toEqual(plain);
    }
  });
});

/** Some models of a provider accept these and others do not. */
const DEPENDS_ON_MODEL = new Set(['temperature', 'top_p', 'reasoning_effort', 'service_tier']);
