/** Client tools, output formats and conversations in `/v1/responses`, with OpenAI's own package. */
import OpenAI from 'openai';
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInput,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorOf } from '../support/error-of.ts';
import type { HostedServer } from '../support/hosted-server.ts';
import { type ScriptedTool, script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { toldOf } from './played-run.ts';
import { ServerWithModel, terminal, waitForStatus } from './server-with-model.ts';

const KEY = 'sk-responses-client-tools';
const model = 'gpt-whatever';

const WEATHER = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: true,
};
const tools = [WEATHER];
const weather = (city: string): ScriptedTool => ({ name: 'get_weather', arguments: { city } });
const asksOnce = (): string => script([{ text: 'I ask.', tools: [weather('Oslo')] }, { text: 'It snows' }]);

let subject: ServerWithModel<HostedServer>;
const openai = (): OpenAI => new OpenAI({ apiKey: KEY, baseURL: `${subject.server.url}/v1`, maxRetries: 0 });
const create = (
  input: string | ResponseInput,
  fields: Partial<ResponseCreateParamsNonStreaming> = {},
): Promise<Response> => openai().responses.create({ model, input, tools, ...fields, stream: false });

function callsOf(response: Response) {
  return response.output.filter((item) => item.type === 'function_call');
}

function outputsFor(response: Response, output: string): ResponseInput {
  return callsOf(response).map(({ call_id }) => ({ type: 'function_call_output', call_id, output }));
}

const runOf = (response: Response): string => (response as unknown as { run_id: string }).run_id;

const ended = (id: string): Promise<Response> =>
  waitFor(`the end of ${id}`, async () => {
    const response = await openai().responses.retrieve(id);
    return response.status !== 'queued' && response.status !== 'in_progress' && response;
  });

async function eventsOf(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe('a response with tools of its client', () => {
  beforeAll(async () => {
    subject = await ServerWithModel.start({ API_SERVER_KEY: KEY });
  });
  afterAll(() => subject[Symbol.asyncDispose]());

  test('ends with the calls, and continues in the same run with their outputs', async () => {
    const prompt = asksOnce();
    const first = await create(prompt);
    expect(first).toMatchObject({
      status: 'completed',
      output_text: 'I ask.',
      tools: [{ type: 'function', name: 'get_weather', parameters: WEATHER.parameters, strict: true }],
      usage: { total_tokens: 15 },
    });
    const offered = new Map(
      subject.model.requests.at(-1)!.body.tools?.map((tool) => [tool.function.name, tool]),
    );
    expect(offered.get('get_weather')).toMatchObject({ function: { strict: true } });
    expect(offered.get('terminal')?.function).not.toHaveProperty('strict');
    const [call] = callsOf(first);
    expect(call).toMatchObject({ name: 'get_weather', status: 'completed' });
    expect(JSON.parse(call!.arguments)).toEqual({ city: 'Oslo' });

    const outputs = outputsFor(first, '3 cm of snow');
    const second = await create(outputs, { previous_response_id: first.id, metadata: { turn: '2' } });
    expect(second).toMatchObject({
      status: 'completed',
      output_text: 'It snows',
      previous_response_id: first.id,
      metadata: { turn: '2' },
      usage: { total_tokens: 15 },
    });
    expect(second.id).toMatch(/^resp_[0-9a-f]{28}$/);
    expect(second.id).not.toBe(first.id);
    expect(second.output.map(({ type }) => type)).toEqual(['message']);
    expect(runOf(second)).toBe(runOf(first));
    expect(toldOf(subject, prompt)).toMatchObject([{ content: '3 cm of snow' }]);
    expect(await openai().responses.retrieve(first.id)).toEqual(first);
    expect(await openai().responses.retrieve(second.id)).toEqual(second);
    // The same request again is the same response.
    expect(await create(outputs, { previous_response_id: first.id })).toEqual(second);

    const third = await create(script([{ text: 'Bye' }]), { previous_response_id: second.id });
    expect(third.output_text).toBe('Bye');
    const told = subject.model.requests
      .at(-1)!
      .body.messages.slice(1)
      .map(({ role }) => role);
    expect(told).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });

  test.each([
    ['a stored response', true],
    ['a response that is not stored', false],
  ])('%s keeps the system prompt of its session when outputs continue it', async (_, store) => {
    const { body } = await subject.api.post<{ session: { id: string } }>('/api/sessions', {
      system_prompt: 'The rules of the house.',
    });
    const input: ResponseInput = [{ role: 'user', content: asksOnce() }];
    const conversation = body.session.id;
    const first = await create(input, { store, conversation });
    const outputs = outputsFor(first, 'snow');
    const second = store
      ? await create(outputs, { previous_response_id: first.id })
      : await create([...input, ...(first.output as ResponseInput), ...outputs], { store, conversation });
    expect(second.output_text).toBe('It snows');
    expect(runOf(second)).toBe(runOf(first));
    expect(JSON.stringify(subject.model.requests.at(-1)!.body.messages[0])).toContain(
      'The rules of the house.',
    );
  });

  test('continues for a client that stores nothing and sends everything', async () => {
    const input: ResponseInput = [{ role: 'user', content: asksOnce() }];
    const first = await create(input, { store: false });
    input.push(...(first.output as ResponseInput), ...outputsFor(first, 'snow'));
    const second = await create(input, { store: false });
    expect(second.output_text).toBe('It snows');
    expect(runOf(second)).toBe(runOf(first));
    expect((await errorOf(openai().responses.retrieve(second.id))) as object).toMatchObject({ status: 404 });
  });

  test('continues for a client that refers to the items it got', async () => {
    const prompt = asksOnce();
    const first = await create(prompt);
    const references = first.output.map(({ id }) => ({ type: 'item_reference' as const, id: id! }));
    const input: ResponseInput = [
      { role: 'user', content: prompt },
      ...references,
      ...outputsFor(first, 'snow'),
    ];
    const second = await create(input);
    expect(second.output_text).toBe('It snows');
    expect(runOf(second)).toBe(runOf(first));
    input.push(...second.output.map(({ id }) => ({ type: 'item_reference' as const, id: id! })));
    const third = await create([...input, { role: 'user', content: script([{ text: 'Bye' }]) }]);
    expect(third.output_text).toBe('Bye');
    const told = subject.model.requests
      .at(-1)!
      .body.messages.slice(1)
      .map(({ role }) => role);
    expect(told).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });

  test('is streamed, each part separately, and both can be read again', async () => {
    const prompt = script([
      { tools: [weather('Oslo'), terminal('echo from-the-server'), weather('Rome')] },
      { text: 'Snow and sun' },
    ]);
    const stream = openai().responses.stream({ model, input: prompt, tools });
    const first = (await stream.finalResponse()) as Response;
    expect(first.output.map(({ type }) => type)).toEqual(['mcp_call', 'function_call', 'function_call']);
    const input = outputsFor(first, 'fine');
    const events = await eventsOf(
      await openai().responses.create({
        model,
        input,
        tools,
        previous_response_id: first.id,
        stream: true,
      }),
    );
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, i) => i));
    const end = events.at(-1)!;
    if (end.type !== 'response.completed') throw new Error(`ended with ${end.type}`);
    expect(end.response.output).toMatchObject([{ type: 'message', content: [{ text: 'Snow and sun' }] }]);
    const again = await openai().responses.retrieve(end.response.id, { stream: true });
    expect(await eventsOf(again)).toEqual(events);
    const before = await openai().responses.retrieve(first.id, { stream: true });
    expect((await eventsOf(before)).at(-1)).toMatchObject({
      type: 'response.completed',
      response: { id: first.id, output: first.output.map(({ type }) => ({ type })) },
    });
  });

  test('works in the background', async () => {
    const { id } = await create(asksOnce(), { background: true });
    const first = await ended(id);
    expect(first.status).toBe('completed');
    expect(callsOf(first)).toHaveLength(1);
    const next = await create(outputsFor(first, 'snow'), { previous_response_id: id, background: true });
    expect(['queued', 'in_progress', 'completed']).toContain(next.status);
    expect((await ended(next.id)).output_text).toBe('It snows');
  });

  test('accepts more text after the outputs', async () => {
    const prompt = asksOnce();
    const first = await create(prompt);
    const input = [...outputsFor(first, '3'), { role: 'user' as const, content: 'in Celsius, please' }];
    const second = await create(input, { previous_response_id: first.id });
    expect(second.output_text).toBe('It snows');
    expect(runOf(second)).toBe(runOf(first));
    expect(JSON.stringify(subject.model.requests.at(-1)!.body.messages)).toContain('in Celsius');
    // The same request again is the same response.
    expect(await create(input, { previous_response_id: first.id })).toEqual(second);
    const other = [...outputsFor(first, '3'), { role: 'user' as const, content: 'in Kelvin, please' }];
    expect(runOf(await create(other, { previous_response_id: first.id }))).not.toBe(runOf(first));
  });

  test('accepts an image after the outputs, in a new run', async () => {
    const first = await create(asksOnce());
    const image = {
      type: 'input_image' as const,
      image_url: 'data:image/png;base64,AAAA',
      detail: 'auto' as const,
    };
    const content = [{ type: 'input_text' as const, text: 'Like this?' }, image];
    const input: ResponseInput = [...outputsFor(first, 'snow'), { role: 'user', content }];
    const second = await create(input, { previous_response_id: first.id });
    expect(runOf(second)).not.toBe(runOf(first));
    expect(subject.model.requests.at(-1)!.body.messages.slice(1)).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool', content: 'snow' },
      { role: 'user', content: [{ type: 'text', text: 'Like this?' }, { type: 'image_url' }] },
    ]);
  });

  test('cannot be continued without its outputs', async () => {
    const first = await create(script([{ tools: [weather('Oslo'), weather('Rome')] }, { text: 'both' }]));
    const [oslo, rome] = callsOf(first);
    const alone = await errorOf(create('And now?', { previous_response_id: first.id }));
    expect(alone).toMatchObject({ status: 400, code: 'invalid_request' });
    expect((alone as Error).message).toContain(`No tool output found for function call ${oslo!.call_id}`);
    const half = await errorOf(
      create(outputsFor(first, 'x').slice(0, 1), { previous_response_id: first.id }),
    );
    expect((half as Error).message).toContain(`No tool output found for function call ${rome!.call_id}`);
    await create(outputsFor(first, 'fine'), { previous_response_id: first.id });
    const late = await errorOf(create('And now?', { previous_response_id: first.id }));
    expect((late as Error).message).toContain('No tool output found for function call');
  });

  test('can be continued again with other outputs, in a new run', async () => {
    const before = await create(script([{ text: 'Hello' }]));
    const first = await create(asksOnce(), { previous_response_id: before.id });
    await create(outputsFor(first, 'snow'), { previous_response_id: first.id });
    const other = await create(outputsFor(first, 'sun'), { previous_response_id: first.id });
    expect(other).toMatchObject({ output_text: 'It snows', previous_response_id: first.id });
    expect(runOf(other)).not.toBe(runOf(first));
    const told = subject.model.requests.at(-1)!.body.messages.slice(1);
    expect(told.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool']);
    expect(told.at(-1)).toMatchObject({ content: 'sun' });
    const next = await create(script([{ text: 'Bye' }]), { previous_response_id: other.id });
    expect(next.output_text).toBe('Bye');
    expect(subject.model.requests.at(-1)!.body.messages.slice(1)).toHaveLength(7);
  });

  test('can be continued again when its run got the outputs from elsewhere', async () => {
    const first = await create(asksOnce());
    const { pending_calls: pending } = await subject.api.run(runOf(first));
    const { tool_call_id } = pending![0]!;
    await subject.api.post(`/v1/runs/${runOf(first)}/tool_outputs`, {
      outputs: [{ tool_call_id, output: 'snow' }],
    });
    await waitForStatus(subject.api, runOf(first), 'completed');
    const other = await create(outputsFor(first, 'sun'), { previous_response_id: first.id });
    expect(runOf(other)).not.toBe(runOf(first));
    const told = subject.model.requests.at(-1)!.body.messages.slice(1);
    expect(told.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(told.at(-1)).toMatchObject({ content: 'sun' });
    const second = await create(outputsFor(first, 'snow'), { previous_response_id: first.id });
    expect(second.output_text).toBe('It snows');
    expect(runOf(second)).toBe(runOf(first));
    const third = await create(script([{ text: 'Bye' }]), { previous_response_id: second.id });
    expect(third.output_text).toBe('Bye');
  });

  test('starts a new run for outputs of calls that nobody waits for', async () => {
    // The model's first step is the call that was made elsewhere.
    const prompt = script([{ tools: [weather('Rome')] }, { text: 'Sunny' }]);
    const { output_text } = await create([
      { role: 'user', content: prompt },
      { type: 'function_call', call_id: 'call_elsewhere', name: 'get_weather', arguments: '{"city":"Rome"}' },
      { type: 'function_call_output', call_id: 'call_elsewhere', output: 'sun' },
    ]);
    expect(output_text).toBe('Sunny');
    expect(subject.model.requests.at(-1)!.body.messages.slice(1)).toMatchObject([
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ id: 'call_elsewhere' }] },
      { role: 'tool', content: 'sun' },
    ]);
  });

  test('has its choice of a tool honoured', async () => {
    const first = await create(asksOnce(), {
      tool_choice: { type: 'function', name: 'get_weather' },
      parallel_tool_calls: false,
    });
    expect(first).toMatchObject({
      tool_choice: { type: 'function', name: 'get_weather' },
      parallel_tool_calls: false,
    });
    expect(subject.model.requests.at(-1)!.body).toMatchObject({
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      parallel_tool_calls: false,
    });
    await openai().responses.create({
      model,
      input: outputsFor(first, 'snow'),
      previous_response_id: first.id,
    });
  });

  test('follows the latest request, also after a restart', async () => {
    const first = await create(asksOnce(), { instructions: 'Be A.', temperature: 0.5 });
    const other = { ...WEATHER, name: 'other' };
    const terms = { instructions: 'Be B.', top_p: 0.5 };
    await subject.server.restart();
    const second = await create(outputsFor(first, 'snow'), {
      previous_response_id: first.id,
      tools: [other],
      ...terms,
    });
    expect(second).toMatchObject({ ...terms, tools: [{ name: 'other' }], temperature: null });
    expect(second.output_text).toBe('It snows');
    expect(runOf(second)).toBe(runOf(first));
    const { body } = subject.model.requests.at(-1)!;
    expect(body.messages[0]!.content).toContain('Be B.');
    expect(body.messages[0]!.content).not.toContain('Be A.');
    expect(body).toMatchObject({ top_p: 0.5 });
    expect(body.temperature).toBeUndefined();
    const offered = body.tools?.map((tool) => tool.function.name);
    expect(offered).toContain('other');
    expect(offered).not.toContain('get_weather');
  });

  test('parses an answer with a requested format, after calls of tools of both kinds', async () => {
    const format = {
      type: 'json_schema' as const,
      name: 'report',
      schema: { type: 'object', properties: { snow: { type: 'number' } }, required: ['snow'] },
      strict: true,
    };
    const text = { format };
    const prompt = script([
      { text: 'First I look.', tools: [terminal('echo hi'), weather('Oslo')] },
      { text: '{"snow":"much"}' },
      { text: '{"snow":3}' },
    ]);
    const first = await create(prompt, { text });
    expect(first.output_text).toBe('');
    const second = await openai().responses.parse({
      model,
      input: outputsFor(first, '3 cm'),
      previous_response_id: first.id,
      tools,
      text,
    });
    expect(second.output_text).toBe('{"snow":3}');
    expect(second.output_parsed).toEqual({ snow: 3 });
    expect(second.text).toMatchObject({ format: { type: 'json_schema', name: 'report' } });
  });

  test('shows the calls of the server in the form that its client reads', async () => {
    const typesFor = async (headers: Record<string, string>, fields: object = {}) => {
      const input = script([{ tools: [terminal('echo hi')] }, { text: 'hi' }]);
      const response = await openai().responses.create({ model, input, ...fields }, { headers });
      return response.output.map(({ type }) => type);
    };
    const hermes = { 'X-Hermes-Session-Id': 'older' };
    expect(await typesFor(hermes)).toEqual(['function_call', 'function_call_output', 'message']);
    expect(await typesFor(hermes, { tools })).toEqual(['mcp_call', 'message']);
    expect(await typesFor({ ...hermes, 'X-Hermes-Tool-Items': 'mcp_call' })).toEqual(['mcp_call', 'message']);
    const gem = { 'User-Agent': 'http.rb/6.0.0' };
    expect(await typesFor(gem)).toEqual(['function_call', 'function_call_output', 'message']);
    const aiSdk5 = { 'User-Agent': 'ai/5.0.277 ai-sdk/provider-utils/3.0.40 runtime/node.js/v24.0.0' };
    expect(await typesFor(aiSdk5)).toEqual(['message']);
    expect(await typesFor({ 'X-Hermes-Tool-Items': 'none' })).toEqual(['message']);
  });

  test("has the model's reasoning", async () => {
    const input = script([{ reasoning: 'Count them.', text: 'Two.' }]);
    const response = (await openai().responses.stream({ model, input }).finalResponse()) as Response;
    expect(response.output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Count them.' }] },
      { type: 'message', content: [{ text: 'Two.' }] },
    ]);
    expect(response.output_text).toBe('Two.');
  });
});

describe('a response that waits for its client', () => {
  test('is answered after a restart, and both parts outlive their run', async () => {
    await using restarted = await ServerWithModel.start({
      API_SERVER_KEY: KEY,
      TALARIA_RUN_RETENTION_SECONDS: '1',
    });
    subject = restarted;
    const first = await create(asksOnce());
    await subject.server.restart();
    expect(await openai().responses.retrieve(first.id)).toEqual(first);
    const second = await create(outputsFor(first, 'snow'), { previous_response_id: first.id });
    expect(second.output_text).toBe('It snows');
    await waitFor('the run to be evicted', async () => {
      const { status } = await subject.api.get(`/v1/runs/${runOf(second)}`);
      return status === 404;
    });
    expect(await openai().responses.retrieve(first.id)).toEqual(first);
    expect(await openai().responses.retrieve(second.id)).toEqual(second);
    const third = await create(script([{ text: 'Bye' }]), { previous_response_id: second.id });
    expect(third.output_text).toBe('Bye');
  });
});
