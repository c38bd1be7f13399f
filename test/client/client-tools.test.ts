/** `runs.run` with tools of the caller, against the real server. */
import { type ClientTools, InvalidOutputError, Talaria } from '@talaria/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { toldOf } from '../e2e/played-run.ts';
import { ServerWithModel, terminal } from '../e2e/server-with-model.ts';
import { errorOf } from '../support/error-of.ts';
import { type ScriptedTool, type Step, script } from '../support/model-server.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

let world: ServerWithModel;
let client: Talaria;
beforeAll(async () => {
  world = await ServerWithModel.start();
  client = new Talaria({ baseUrl: world.server.url });
});
afterAll(() => world[Symbol.asyncDispose]());

const City = z.object({ city: z.string(), days: z.number().default(3) });
const weather = (city: unknown, id?: string): ScriptedTool => ({
  name: 'getWeather',
  arguments: { city },
  ...(id === undefined ? {} : { id }),
});
const steps = (...tools: ScriptedTool[]): Step[] => [{ tools }, { text: 'done' }];

type Execute = ClientTools<{ getWeather: typeof City }>['getWeather']['execute'];
const tools = (execute: Execute) => ({
  getWeather: { description: 'The weather of a city', parameters: City, execute },
});

/** What the model was told about its calls. */
const told = (prompt: string) => toldOf(world, prompt).map(({ content }) => content);

test('a tool gets typed arguments, and the model gets its result', async () => {
  const input = script(steps(weather('Oslo')));
  const seen: object[] = [];
  const run = await client.runs.run({
    input,
    temperature: 0.5,
    tools: tools(async ({ city, days }, { runId, toolCallId }) => {
      seen.push({ city, days, runId, toolCallId });
      return { city: city.toUpperCase(), days };
    }),
  });
  expect(run).toMatchObject({ status: 'completed', output: 'done' });
  expect(seen).toEqual([
    { city: 'Oslo', days: 3, runId: run.run_id, toolCallId: toldOf(world, input)[0]!.tool_call_id },
  ]);
  expect(told(input)).toEqual(['{"city":"OSLO","days":3}']);
  const { body } = world.model.requests.at(-1)!;
  expect(body).toMatchObject({ temperature: 0.5 });
  expect(body.tools!.find(({ function: { name } }) => name === 'getWeather')).toMatchObject({
    function: { description: 'The weather of a city', parameters: { required: ['city'] } },
  });
});

test('calls run side by side, and each output is sent as soon as it is ready', async () => {
  const { promise: slow, resolve: finish } = Promise.withResolvers<void>();
  const input = script(steps(weather('slow'), terminal('echo from-the-server'), weather('fast')));
  const begun: string[] = [];
  let runId = '';
  const running = client.runs.run({
    input,
    tools: tools(async ({ city }, context) => {
      runId = context.runId;
      begun.push(city);
      if (city === 'slow') await slow;
      return city;
    }),
  });
  const [left] = await waitFor('one output to be taken', async () => {
    const { pending_calls: pending } = runId === '' ? {} : await client.runs.get(runId);
    return pending?.length === 1 && begun.length === 2 && pending;
  });
  expect(left).toMatchObject({ arguments: { city: 'slow' } });
  finish();
  expect(await running).toMatchObject({ status: 'completed' });
  const [first, second, third] = told(input);
  expect({ first, third }).toEqual({ first: 'slow', third: 'fast' });
  expect(second).toContain('from-the-server');
});

test('the model hears of a tool that throws and of arguments that do not fit', async () => {
  const input = script([{ tools: [weather('Atlantis')] }, { tools: [weather(7)] }, { text: 'done' }]);
  const failures: boolean[] = [];
  const run = await client.runs.run(
    {
      input,
      tools: tools(() => {
        throw new Error('no such city');
      }),
    },
    { onEvent: (event) => event.event === 'tool.completed' && failures.push(event.error) },
  );
  expect(run.status).toBe('completed');
  expect(failures).toEqual([true, true]);
  expect(told(input)[0]).toContain('no such city');
  expect(told(input)[1]).toMatch(/The arguments are invalid: city: .*string/);
});

test('arguments that events show in part are complete', async () => {
  const city = 'x'.repeat(20_000);
  let seen = '';
  await client.runs.run({
    input: script(steps(weather(city))),
    tools: tools(({ city: given }) => {
      seen = given;
    }),
  });
  expect(seen).toBe(city);
});

test('the model hears at once of an output that the server refuses', async () => {
  const input = script(steps(weather('Oslo')));
  const run = await client.runs.run({ input, tools: tools(() => 'x'.repeat(10_000_001)) });
  expect(run.status).toBe('completed');
  expect(told(input)[0]).toMatch(/The output of the tool could not be sent: .*body_too_large/);
});

describe('the signal of a call', () => {
  /** A run whose tool waits for its signal. */
  function waiting(signal?: AbortSignal, idempotencyKey?: string) {
    const input = script(steps(weather('Oslo')));
    let context: { runId: string; toolCallId: string; signal: AbortSignal } | undefined;
    const running = client.runs.run(
      {
        input,
        tools: tools(async (_, given) => {
          context = given;
          await new Promise((resolve) => given.signal.addEventListener('abort', resolve));
          return 'too late';
        }),
      },
      { signal, idempotencyKey },
    );
    running.catch(() => {});
    return { input, running, begun: () => waitFor('the call', () => context) };
  }

  test('aborts when the run was stopped', async () => {
    const { running, begun } = waiting();
    const { runId, signal } = await begun();
    await client.runs.stop(runId);
    expect(await running).toMatchObject({ status: 'cancelled' });
    expect(signal.aborted).toBe(true);
  });

  test('aborts when somebody else has answered', async () => {
    const { input, running, begun } = waiting();
    const { runId, toolCallId, signal } = await begun();
    const outputs = [{ tool_call_id: toolCallId, output: 'from elsewhere' }];
    expect(await client.runs.toolOutputs(runId, outputs)).toMatchObject({ accepted: 1 });
    expect(await client.runs.toolOutputs(runId, outputs)).toMatchObject({ accepted: 1 });
    expect(await running).toMatchObject({ status: 'completed' });
    expect(signal.aborted).toBe(true);
    expect(told(input)).toEqual(['from elsewhere']);
  });

  test('aborts when the caller has left; the call stays pending for the next follower of the run', async () => {
    const abort = new AbortController();
    const idempotencyKey = 'followed-twice';
    const { input, running, begun } = waiting(abort.signal, idempotencyKey);
    const { runId, signal } = await begun();
    abort.abort(new Error('enough'));
    expect(await errorOf(running)).toEqual(new Error('enough'));
    expect(signal.aborted).toBe(true);
    expect(await client.runs.get(runId)).toMatchObject({ status: 'waiting_for_tool' });

    const again = await client.runs.run({ input, tools: tools(() => 'in time') }, { idempotencyKey });
    expect(again).toMatchObject({ run_id: runId, status: 'completed' });
    expect(told(input)).toEqual(['in time']);
  });
});

test('an output that comes after somebody else’s does no harm', async () => {
  const answers: number[] = [];
  const watching = new Talaria({
    baseUrl: world.server.url,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (url.endsWith('/tool_outputs')) answers.push(response.status);
      return response;
    },
  });
  const input = script(steps(weather('Oslo')));
  const run = await watching.runs.run(
    {
      input,
      tools: tools(async (_, { runId, toolCallId }) => {
        await client.runs.toolOutputs(runId, [{ tool_call_id: toolCallId, output: 'first' }]);
        return 'second';
      }),
    },
    // Delays the news that the call is settled until the late output was refused.
    {
      onEvent: ({ event }) => event === 'run.waiting' && waitFor('the late output', () => answers.length > 0),
    },
  );
  expect(run.status).toBe('completed');
  expect(answers).toEqual([409]);
  expect(told(input)).toEqual(['first']);
});

test('an answered call is not run again by another run()', async () => {
  const input = script([
    { tools: [weather('Oslo')] },
    { gate: 'between', tools: [weather('Rome')] },
    { text: 'done' },
  ]);
  const idempotencyKey = 'taken-over';
  const abort = new AbortController();
  const cities: string[] = [];
  const both = tools(({ city }) => {
    cities.push(city);
    return city;
  });
  const first = client.runs.run({ input, tools: both }, { idempotencyKey, signal: abort.signal });
  await world.model.waitingAt('between');
  abort.abort();
  await errorOf(first);
  const second = new Talaria({ baseUrl: world.server.url }).runs.run(
    { input, tools: both },
    { idempotencyKey },
  );
  world.model.open('between');
  expect(await second).toMatchObject({ status: 'completed' });
  expect(cities).toEqual(['Oslo', 'Rome']);
});

test('tools in the form of the protocol are left to somebody else', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const running = client.runs.run(
    {
      input: script(steps(weather('Oslo'))),
      tools: [{ type: 'function', function: { name: 'getWeather' } }],
    },
    { onEvent: ({ event, run_id }) => event === 'run.waiting' && resolve(run_id) },
  );
  const runId = await promise;
  const [call] = (await client.runs.get(runId)).pending_calls!;
  await client.runs.toolOutputs(runId, [{ tool_call_id: call!.tool_call_id, output: 'sun' }]);
  expect(await running).toMatchObject({ status: 'completed' });
});

test('waits for a server that is killed while a tool works, and the tool runs once', async () => {
  await using restarted = await ServerWithModel.startProcess();
  await using proxy = await UnreliableProxy.start(() => restarted.server.url, 1);
  const input = script(steps(weather('Oslo'), weather('Rome')));
  const cities: string[] = [];
  let back: Promise<void> | undefined;
  const run = await new Talaria({ baseUrl: proxy.url, maxRetries: 0 }).runs.run({
    input,
    tools: tools(async ({ city }) => {
      cities.push(city);
      if (city === 'Rome') return city;
      await waitFor('the other call', () => cities.length === 2);
      await restarted.server.kill();
      // The output is ready before the server is.
      back = restarted.server.start();
      return city;
    }),
  });
  await back;
  expect(run).toMatchObject({ status: 'completed', output: 'done' });
  expect(cities.sort()).toEqual(['Oslo', 'Rome']);
  expect(toldOf(restarted, input).map(({ content }) => content)).toEqual(['Oslo', 'Rome']);
});

const onceOverBadNetwork = 'every call runs once over a bad network (seed %i)';
test.each([1])(onceOverBadNetwork, runsOnce);
test.each([2, 3])(onceOverBadNetwork, { tags: ['soak'] }, runsOnce);

async function runsOnce(seed: number): Promise<void> {
  const faults = { refuse: 0.1, cut: 0.15, damage: 0.08, delay: 0.2 };
  await using proxy = await UnreliableProxy.start(() => world.server.url, seed, faults);
  const bad = new Talaria({ baseUrl: proxy.url, maxRetries: 10 });
  const cities = ['a', 'b', 'c', 'd', 'e', 'f'];
  const input = script([
    { tools: cities.slice(0, 3).map((city) => weather(city)) },
    {
      text: 'and now '.repeat(20),
      chunks: 20,
      delayMs: 10,
      tools: cities.slice(3).map((city) => weather(city)),
    },
    { text: 'done' },
  ]);
  const seen: string[] = [];
  const run = await bad.runs.run({
    input,
    tools: tools(({ city }) => {
      // Whatever the random faults do: this output finds no connection, and the stream is lost.
      if (seen.push(city) === 2) proxy.cutAll();
      return city;
    }),
  });
  expect(run).toMatchObject({ status: 'completed', output: 'done' });
  expect(seen.sort()).toEqual(cities);
  expect(told(input)).toEqual(cities);
}

describe('output_schema', () => {
  const When = z.object({ when: z.string().transform((text) => new Date(text)) });

  test('of a library: the output is the parsed answer', async () => {
    const run = await client.runs.run({
      input: script([{ text: 'soon' }, { text: '{"when": "2026-01-02"}' }]),
      output_schema: When,
    });
    expect(run).toMatchObject({ status: 'completed', output: '{"when": "2026-01-02"}' });
    expect(run.output_parsed!.when.getUTCFullYear()).toBe(2026);
  });

  test("as JSON: the output is the server's", async () => {
    const output_schema = { type: 'array', items: { type: 'integer' } };
    expect(await client.runs.run({ input: script([{ text: '[1]' }]), output_schema })).toMatchObject({
      output_parsed: [1],
    });
  });

  test('that is stricter than its JSON schema is an error that carries the run', async () => {
    const output_schema = When.refine(({ when }) => when.getTime() > 0, 'must be after 1970');
    const error = await errorOf(
      client.runs.run({ input: script([{ text: '{"when": "1969-01-01"}' }]), output_schema }),
    );
    expect(error).toBeInstanceOf(InvalidOutputError);
    expect(error).toMatchObject({
      message: expect.stringContaining('does not satisfy its schema: must be after 1970'),
      run: { status: 'completed', output: '{"when": "1969-01-01"}' },
    });
  });

  test('of a run that fails has no output', async () => {
    const run = await client.runs.run({ input: script([{ text: 'no' }]), output_schema: When });
    expect(run).toMatchObject({ status: 'failed', error_code: 'invalid_output' });
    expect(run.output_parsed).toBeUndefined();
  });

  test('that is not a schema is refused before a run begins', async () => {
    const output_schema = z.object({ at: z.date() });
    const error = await errorOf(client.runs.create({ input: 'x', output_schema }));
    expect(error).toBeInstanceOf(TypeError);
  });
});
