/** Client functions in `/v1/chat/completions`, with OpenAI's own package: a request continues the waiting run. */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HostedServer } from '../support/hosted-server.ts';
import { type ScriptedTool, script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { ServerWithModel, terminal, waitForStatus } from './server-with-model.ts';

type Messages = OpenAI.ChatCompletionMessageParam[];

const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];
const weather = (city: string): ScriptedTool => ({ name: 'get_weather', arguments: { city } });
const model = 'any';

const KEY = 'a-key-of-the-tests';
let world: ServerWithModel<HostedServer>;
let client: OpenAI;

/** For the server's present address. */
const clientOf = ({ server }: ServerWithModel, defaultHeaders: Record<string, string> = {}) =>
  new OpenAI({ baseURL: `${server.url}/v1`, apiKey: KEY, defaultHeaders });

beforeAll(async () => {
  world = await ServerWithModel.start({ API_SERVER_KEY: KEY });
  client = clientOf(world);
});
afterAll(() => world[Symbol.asyncDispose]());

const prompting = (...steps: Parameters<typeof script>[0]): Messages => [
  { role: 'user', content: script(steps) },
];

/** The messages of the next request: the answer, and an output for each of its calls. */
function answered(
  messages: Messages,
  message: OpenAI.ChatCompletionMessage,
  output: (city: string) => string,
): Messages {
  const outputs = (message.tool_calls ?? []).map((call) => {
    const { city } = JSON.parse((call as OpenAI.ChatCompletionMessageFunctionToolCall).function.arguments);
    return { role: 'tool' as const, tool_call_id: call.id, content: output(city) };
  });
  return [...messages, message, ...outputs];
}

async function ask(messages: Messages, fields: object = {}) {
  const { data, response } = await client.chat.completions
    .create({ model, messages, tools, ...fields })
    .withResponse();
  return { data, choice: data.choices[0]!, runId: response.headers.get('x-talaria-run-id')! };
}

describe('a completion that asks for tools of the client', () => {
  test('is continued by their outputs, in the same run', async () => {
    const messages = prompting(
      { text: 'I look.', tools: [weather('Oslo'), terminal('echo from-the-server'), weather('Rome')] },
      { tools: [weather('Bonn')] },
      { text: 'Cold.' },
    );
    const first = await ask(messages);
    expect(first.choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'I look.' } });
    expect(first.choice.message.tool_calls).toHaveLength(2);
    expect(first.data.usage).toMatchObject({ total_tokens: 15 });

    const second = await ask(answered(messages, first.choice.message, (city) => `snow in ${city}`));
    expect(second.choice.finish_reason).toBe('tool_calls');
    const third = await ask(answered(messages, second.choice.message, () => 'rain'));
    expect(third.choice).toMatchObject({ finish_reason: 'stop', message: { content: 'Cold.' } });
    expect(new Set([first.runId, second.runId, third.runId]).size).toBe(1);
    expect(new Set([first.data.id, second.data.id, third.data.id]).size).toBe(3);
    expect(third.data.usage).toMatchObject({ total_tokens: 15 });
    const told = JSON.stringify(world.model.requests.at(-1)!.body.messages);
    for (const text of ['snow in Oslo', 'from-the-server', 'snow in Rome', 'rain'])
      expect(told).toContain(text);
  });

  test('streams its calls, and the answer to their outputs', async () => {
    const messages = prompting({ tools: [weather('Oslo')] }, { text: 'Snow.' });
    const first = client.chat.completions.stream({ model, messages, tools });
    const { message, finish_reason } = (await first.finalChatCompletion()).choices[0]!;
    expect(finish_reason).toBe('tool_calls');
    const second = client.chat.completions.stream({
      model,
      messages: answered(messages, message, () => 'snow'),
      tools,
    });
    expect((await second.finalChatCompletion()).choices[0]!.message.content).toBe('Snow.');
  });

  test('runs through the package’s own loop', async () => {
    const cities: string[] = [];
    const runner = client.chat.completions.runTools({
      model,
      messages: prompting({ tools: [weather('Oslo'), weather('Rome')] }, { text: 'Both are cold.' }),
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            parse: JSON.parse,
            description: 'The weather of a city',
            parameters: { type: 'object' },
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return 'cold';
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe('Both are cold.');
    expect(cities.sort()).toEqual(['Oslo', 'Rome']);
  });

  test('gives the same answer to the same outputs, and applies them once', async () => {
    const messages = prompting({ tools: [weather('Oslo')] }, { text: 'Snow.' });
    const first = await ask(messages);
    const next = answered(messages, first.choice.message, () => 'snow');
    const [a, b] = await Promise.all([ask(next), ask(next)]);
    const later = await ask(next);
    for (const { runId, choice } of [a, b, later]) {
      expect({ runId, text: choice.message.content }).toEqual({ runId: first.runId, text: 'Snow.' });
    }
    expect(new Set([a, b, later].map(({ data }) => data.id)).size).toBe(1);
  });

  test('is another run if the outputs differ from those it got', async () => {
    const messages = prompting({ tools: [weather('Oslo')] }, { text: 'ok' });
    const first = await ask(messages);
    await ask(answered(messages, first.choice.message, () => 'snow'));
    const other = await ask(answered(messages, first.choice.message, () => 'sun'));
    expect(other.runId).not.toBe(first.runId);
    expect(other.choice.message.content).toBe('ok');
    const told = world.model.requests
      .at(-1)!
      .body.messages.slice(-3)
      .map(({ role }) => role);
    expect(told).toEqual(['user', 'assistant', 'tool']);
  });

  test('is refused without all of its outputs', async () => {
    const messages = prompting({ tools: [weather('Oslo'), weather('Rome')] }, { text: 'ok' });
    const { choice } = await ask(messages);
    const next = answered(messages, choice.message, () => 'snow');
    await expect(ask(next.slice(0, -1))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(choice.message.tool_calls![1]!.id),
    });
  });

  test('follows the latest request', async () => {
    const called = (name: string): OpenAI.ChatCompletionTool => ({ type: 'function', function: { name } });
    const [prompt] = prompting(
      { tools: [weather('Oslo')] },
      { tools: [weather('Rome')] },
      { text: '{"c": 3}' },
    );
    const first = await ask([{ role: 'system', content: 'Be A.' }, prompt!], { temperature: 0.5 });
    const next = answered(
      [{ role: 'system', content: 'Be B.' }, prompt!],
      first.choice.message,
      () => 'snow',
    );
    const form = { type: 'json_schema', json_schema: { name: 'c', schema: { required: ['c'] } } };
    const second = await ask(next, {
      tools: [...tools, called('other')],
      tool_choice: 'required',
      response_format: form,
    });
    const asked = world.model.requests.at(-1)!.body;
    expect(asked).toMatchObject({ tool_choice: 'required' });
    expect(asked.temperature).toBeUndefined();
    expect(asked.tools?.map((tool) => tool.function.name)).toEqual(['get_weather', 'other']);
    expect(asked.messages[0]!.content).toContain('Be B.');
    expect(asked.messages[0]!.content).not.toContain('Be A.');

    const last = answered(next, second.choice.message, () => 'rain');
    const third = await ask(last, { tools: undefined });
    expect(third.choice).toMatchObject({ finish_reason: 'stop', message: { content: '{"c": 3}' } });
    const atLast = world.model.requests.at(-1)!.body;
    expect(atLast.tools?.map((tool) => tool.function.name)).not.toContain('get_weather');
    expect(atLast.messages[0]!.content).not.toContain('schema');
    expect(new Set([first.runId, second.runId, third.runId]).size).toBe(1);
  });

  test('refuses a format that cannot be checked, and still waits for outputs', async () => {
    const messages = prompting({ tools: [weather('Oslo')] }, { text: 'Snow.' });
    const { choice, runId } = await ask(messages);
    const next = answered(messages, choice.message, () => 'snow');
    const schema = { type: 'string', pattern: '(' };
    const response_format = { type: 'json_schema', json_schema: { name: 'none', schema } };
    await expect(ask(next, { response_format })).rejects.toMatchObject({ code: 'invalid_output_schema' });
    expect(await ask(next)).toMatchObject({ runId, choice: { message: { content: 'Snow.' } } });
  });

  test('is continued after a restart', async () => {
    const messages = prompting({ tools: [weather('Oslo')] }, { text: 'Snow.' });
    const { choice } = await ask(messages);
    await world.server.restart();
    client = clientOf(world);
    const next = await ask(answered(messages, choice.message, () => 'snow'));
    expect(next.choice.message.content).toBe('Snow.');
  });

  test('that is never continued completes at its timeout, with its calls as the answer', async () => {
    await using hurried = await ServerWithModel.start({ TALARIA_CLIENT_TOOL_TIMEOUT_SECONDS: '0.5' });
    const messages = prompting({ tools: [weather('Oslo'), weather('Rome')] });
    await clientOf(hurried).chat.completions.create({ model, messages, tools });
    const run = await waitFor('the run', async () => (await hurried.api.list()).data[0]);
    const { output } = await waitForStatus(hurried.api, run.run_id, 'completed');
    expect(output).toBe('{"city":"Oslo"}\n{"city":"Rome"}');
    expect(hurried.model.requests).toHaveLength(1);
  });

  test('that is steered meanwhile tells the model instead', async () => {
    await using hurried = await ServerWithModel.start({ TALARIA_CLIENT_TOOL_TIMEOUT_SECONDS: '1' });
    const messages = prompting({ tools: [weather('Oslo')] }, { text: 'Then without.' });
    await clientOf(hurried).chat.completions.create({ model, messages, tools });
    const [run] = (await hurried.api.list()).data;
    await hurried.api.post(`/v1/runs/${run!.run_id}/steer`, { input: 'Hurry up.' });
    const { output } = await waitForStatus(hurried.api, run!.run_id, 'completed');
    expect(output).toBe('Then without.');
  });
});

describe('a run whose client names the tool', () => {
  const named = { tool_choice: { type: 'function', function: { name: 'get_weather' } } };

  test.each([
    ['by its name', named],
    ['as the only one', { tool_choice: 'required' }],
  ])('%s, is complete with the call', async (_, choice) => {
    const { choice: end, runId } = await ask(prompting({ tools: [weather('Oslo')] }), choice);
    expect(end.finish_reason).toBe('tool_calls');
    const run = await waitForStatus(world.api, runId, 'completed');
    expect(run).toMatchObject({ output: '{"city":"Oslo"}', usage: { total_tokens: 15 } });
    expect(run.pending_calls).toBeUndefined();
  });

  test('streams the call, and is complete', async () => {
    const stream = client.chat.completions.stream({
      model,
      messages: prompting({ tools: [weather('Oslo')] }),
      tools,
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls' });
    const [run] = (await world.api.list()).data;
    expect(run).toMatchObject({ status: 'completed', output: '{"city":"Oslo"}' });
  });

  test('is continued by another one, which knows the call and its output', async () => {
    const messages = prompting({ tools: [weather('Oslo')] }, { text: 'Snow.' });
    const first = await ask(messages, named);
    const next = await ask(answered(messages, first.choice.message, () => 'deep snow'));
    expect(next.choice.message.content).toBe('Snow.');
    expect(next.runId).not.toBe(first.runId);
    expect(JSON.stringify(world.model.requests.at(-1)!.body.messages)).toContain('deep snow');
  });

  test('waits when it made other calls, too, or when the choice was for an earlier step', async () => {
    const messages = prompting(
      { tools: [terminal('true')] },
      { tools: [weather('Oslo')] },
      { text: 'Snow.' },
    );
    const { choice, runId } = await ask(messages, named);
    expect(await world.api.run(runId)).toMatchObject({ status: 'waiting_for_tool' });
    expect(await ask(answered(messages, choice.message, () => 'snow'))).toMatchObject({ runId });
  });
});

describe('functions by their older name', () => {
  const functions = [tools[0]!].map((tool) => (tool as OpenAI.ChatCompletionFunctionTool).function);
  const steps = () => prompting({ tools: [weather('Oslo'), weather('Rome')] }, { text: 'Snow.' });
  const called = { name: 'get_weather', arguments: '{"city":"Oslo"}' };

  test('are called one at a time, by that name, and answered', async () => {
    const messages = steps();
    const body = { model, messages, functions };
    const { choices } = await client.chat.completions.create(body);
    expect(choices[0]).toMatchObject({ finish_reason: 'function_call', message: { function_call: called } });
    expect(choices[0]!.message.tool_calls).toBeUndefined();
    const result = { role: 'function' as const, name: 'get_weather', content: 'deep snow' };
    const next = await client.chat.completions.create({
      ...body,
      messages: [...messages, choices[0]!.message, result],
    });
    expect(next.choices[0]!.message.content).toBe('Snow.');
    expect(JSON.stringify(world.model.requests.at(-1)!.body.messages)).toContain('deep snow');
  });

  test('are called in a stream', async () => {
    const stream = client.chat.completions.stream({ model, messages: steps(), functions });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]).toMatchObject({ finish_reason: 'function_call', message: { function_call: called } });
  });
});

describe('in a session', () => {
  const inSession = (session: string) => clientOf(world, { 'x-hermes-session-id': session }).chat.completions;

  test('another message stops the run that waits for outputs, and is answered at once', async () => {
    const chat = inSession('abandoned');
    await chat.create({ model, messages: prompting({ tools: [weather('Oslo')] }), tools });
    const [waiting] = (await world.api.list()).data;
    const { choices } = await chat.create({ model, messages: prompting({ text: 'Never mind.' }) });
    expect(choices[0]!.message.content).toBe('Never mind.');
    expect(await world.api.run(waiting!.run_id)).toMatchObject({ status: 'cancelled' });
  });

  test('the same message again, under its key, does not count as another one', async () => {
    const chat = inSession('repeated');
    const body = { model, messages: prompting({ tools: [weather('Oslo')] }, { text: 'Snow.' }), tools };
    const headers = { 'idempotency-key': 'repeated' };
    const { choices } = await chat.create(body, { headers });
    expect((await chat.create(body, { headers })).choices).toEqual(choices);
    const next = answered(body.messages, choices[0]!.message, () => 'snow');
    expect((await chat.create({ ...body, messages: next })).choices[0]!.message.content).toBe('Snow.');
  });

  test('a run of /v1/runs keeps waiting: somebody else may answer its calls', async () => {
    const runId = await world.api.create(script([{ tools: [weather('Oslo')] }, { text: 'ok' }]), {
      session_id: 'served',
      tools,
    });
    const { pending_calls } = await waitForStatus(world.api, runId, 'waiting_for_tool');
    const next = inSession('served').create({ model, messages: prompting({ text: 'Next.' }) });
    await waitFor('the next run', async () => (await world.api.list()).data[0]!.run_id !== runId);
    const outputs = [{ tool_call_id: pending_calls![0]!.tool_call_id, output: 'snow' }];
    expect(await world.api.post(`/v1/runs/${runId}/tool_outputs`, { outputs })).toMatchObject({
      status: 200,
    });
    expect((await next).choices[0]!.message.content).toBe('Next.');
    expect(await world.api.run(runId)).toMatchObject({ status: 'completed' });
  });

  test('a call that was the answer is in the conversation, with a result', async () => {
    const chat = inSession('typed');
    const body = { model, messages: prompting({ tools: [weather('Oslo')] }), tools };
    await chat.create({
      ...body,
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    });
    await chat.create({ model, messages: prompting({ text: 'Next.' }) });
    const said = world.model.requests.at(-1)!.body.messages;
    expect(said.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
    expect(JSON.stringify(said[3])).toContain('took this call as the answer');
  });

  test('outputs that come too late for their run go to the next one', async () => {
    const chat = inSession('late');
    const messages = prompting({ tools: [weather('Oslo')] }, { text: 'Snow.' });
    const { choices } = await chat.create({ model, messages, tools });
    const [waiting] = (await world.api.list()).data;
    await world.api.post(`/v1/runs/${waiting!.run_id}/stop`);
    const next = answered(messages, choices[0]!.message, () => 'snow');
    expect((await chat.create({ model, messages: next, tools })).choices[0]!.message.content).toBe('Snow.');
  });
});

test('the package parses an answer with a requested format', async () => {
  const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] };
  const response_format = {
    type: 'json_schema',
    json_schema: { name: 'person', schema, strict: true },
  } as const;
  const messages = prompting({ text: 'He is 36' }, { text: '{"age": 36}' });
  const { choice } = await ask(messages, { response_format });
  expect(JSON.parse(choice.message.content!)).toEqual({ age: 36 });
  const stream = client.chat.completions.stream({
    model,
    messages: prompting({ text: '{"age": 7}' }),
    response_format,
  });
  expect(await stream.finalContent()).toBe('{"age": 7}');
});

test('model settings are passed on, except those that the server reserves', async () => {
  await ask(prompting({ text: 'ok' }), {
    temperature: 0.3,
    top_p: 0.9,
    max_completion_tokens: 77,
    stop: ['END'],
    seed: 7,
    presence_penalty: 0.1,
    frequency_penalty: 0.2,
    reasoning_effort: 'low',
    verbosity: 'low',
    logit_bias: { 5: 1 },
    service_tier: 'priority',
  });
  const { body } = world.model.requests.at(-1)!;
  expect(body).toMatchObject({
    temperature: 0.3,
    top_p: 0.9,
    max_tokens: 77,
    stop: ['END'],
    seed: 7,
    presence_penalty: 0.1,
    frequency_penalty: 0.2,
    reasoning_effort: 'low',
    verbosity: 'low',
    logit_bias: { 5: 1 },
  });
  expect(body.service_tier).toBeUndefined();
});
