/** Tools that the client runs itself: the run waits for their outputs, and holds no worker meanwhile. */
import type { PendingCall } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import type { HostedServer } from '../support/hosted-server.ts';
import { type ScriptedTool, script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { toldOf } from './played-run.ts';
import { endsAs, names, ofKind, ServerWithModel, terminal, waitForStatus } from './server-with-model.ts';

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

const weather = (city: string): ScriptedTool => ({ name: 'get_weather', arguments: { city } });

let world: ServerWithModel;
let api: Api;

async function start(prompt: string, fields: object = {}): Promise<string> {
  const { status, body } = await api.post('/v1/runs', { input: prompt, tools: [WEATHER], ...fields });
  expect(status).toBe(202);
  return (body as { run_id: string }).run_id;
}

/** When the run waits only for its client. */
async function pending(runId: string): Promise<PendingCall[]> {
  return waitFor('the run to wait for its client', async () => {
    const run = await api.run(runId);
    return run.last_event === 'run.waiting' && run.pending_calls;
  });
}

function answer(runId: string, ...outputs: object[]) {
  return api.post(`/v1/runs/${runId}/tool_outputs`, { outputs });
}

async function load(): Promise<{ queued: number; leased: number }> {
  return ((await api.get('/health/detailed')).body as { queue: { queued: number; leased: number } }).queue;
}

describe('a run with tools of its client', () => {
  let shared: ServerWithModel<HostedServer>;
  beforeAll(async () => {
    shared = await ServerWithModel.start();
    world = shared;
    api = world.api;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('waits without a worker, and continues with the output', async () => {
    const prompt = script([{ tools: [weather('Oslo')] }, { text: 'It snows' }]);
    const runId = await start(prompt);
    const [call] = await pending(runId);
    expect(call).toMatchObject({ tool: 'get_weather', arguments: { city: 'Oslo' } });
    expect(call!.expires_at).toBeGreaterThan(Date.now() / 1000);
    expect(await api.run(runId)).toMatchObject({ status: 'waiting_for_tool' });
    await waitFor('the worker to let go', async () => (await load()).leased === 0);
    expect(await load()).toMatchObject({ queued: 0, leased: 0 });

    const taken = await answer(runId, { tool_call_id: call!.tool_call_id, output: { snow: '3 cm' } });
    expect(taken).toMatchObject({ status: 200, body: { object: 'hermes.run.tool_outputs', accepted: 1 } });
    const { output, frames } = await endsAs(api, runId, 'run.completed');
    expect(output).toBe('It snows');
    expect(names(frames).filter((name) => name !== 'message.delta')).toEqual([
      'step.completed',
      'tool.started',
      'run.waiting',
      'tool.completed',
      'step.completed',
      'run.completed',
    ]);
    expect(ofKind(frames, 'tool.started')[0]).toMatchObject({ client: true, arguments: { city: 'Oslo' } });
    expect(toldOf(world, prompt)).toMatchObject([{ content: '{"snow":"3 cm"}' }]);
    expect((await api.run(runId)).pending_calls).toBeUndefined();
  });

  test('gives its client the whole timeout after everything else of the step is done', async () => {
    const runId = await start(script([{ tools: [weather('Oslo'), terminal('sleep 0.2')] }, { text: 'ok' }]));
    const calls = await pending(runId);
    await api.post(`/v1/runs/${runId}/stop`);
    const { frames } = await endsAs(api, runId, 'run.cancelled');
    const [slow] = ofKind(frames, 'tool.completed');
    expect(calls[0]!.expires_at - 600).toBeGreaterThanOrEqual(slow!.timestamp);
    expect(ofKind(frames, 'run.waiting')).toMatchObject([{ calls }]);
  });

  test('may have more calls in a step than the server runs at once', async () => {
    const cities = Array.from({ length: 100 }, (_, n) => `city ${n}`);
    const prompt = script([{ tools: [...cities.map(weather), terminal('echo here')] }, { text: 'ok' }]);
    const runId = await start(prompt);
    const calls = await pending(runId);
    expect(calls.map(({ arguments: { city } }) => city)).toEqual(cities);
    await answer(runId, ...calls.map(({ tool_call_id }) => ({ tool_call_id, output: 'mild' })));
    await endsAs(api, runId, 'run.completed');
    const told = toldOf(world, prompt).map(({ content }) => content);
    expect(told.slice(0, 100)).toEqual(cities.map(() => 'mild'));
    expect(told[100]).toContain('here');
  });

  test('accepts the same output again as if it were new, and refuses a different one', async () => {
    const runId = await start(script([{ tools: [weather('Rome')] }, { text: 'ok' }]));
    const [call] = await pending(runId);
    const output = { tool_call_id: call!.tool_call_id, output: 'sun' };
    const both = await Promise.all([answer(runId, output), answer(runId, output)]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(ofKind(frames, 'tool.completed')).toHaveLength(1);
    expect(await answer(runId, output)).toMatchObject({ status: 200 });
    expect(await answer(runId, { ...output, output: 'rain' })).toMatchObject({
      status: 409,
      body: { error: { code: 'call_not_pending' } },
    });
    expect(await answer(runId, { tool_call_id: 'call_unknown', output: '' })).toMatchObject({ status: 409 });
  });

  test('mixes its calls with those of the server, which do not wait for them', async () => {
    const prompt = script([
      { tools: [weather('Oslo'), terminal('echo from-the-server'), weather('Rome')] },
      { text: 'ok' },
    ]);
    const runId = await start(prompt);
    const calls = await pending(runId);
    expect(calls.map(({ arguments: { city } }) => city)).toEqual(['Oslo', 'Rome']);
    await answer(runId, { tool_call_id: calls[1]!.tool_call_id, output: 'sun' });
    expect((await api.run(runId)).pending_calls).toHaveLength(1);
    await answer(runId, { tool_call_id: calls[0]!.tool_call_id, error: 'no such city', output: '' });
    const { frames } = await endsAs(api, runId, 'run.completed');
    const told = toldOf(world, prompt).map(({ content }) => content);
    expect(told[0]).toContain('no such city');
    expect(told[1]).toContain('from-the-server');
    expect(told[2]).toBe('sun');
    const outcomes = ofKind(frames, 'tool.completed').map(({ tool, error }) => ({ tool, error }));
    expect(outcomes).toEqual([
      { tool: 'terminal', error: false },
      { tool: 'get_weather', error: true },
      { tool: 'get_weather', error: false },
    ]);
  });

  test('replaces a server tool of the same name', async () => {
    const tool = { type: 'function', function: { name: 'terminal', parameters: { type: 'object' } } };
    const runId = await start(script([{ tools: [terminal('touch ran')] }, { text: 'ok' }]), {
      tools: [tool],
    });
    const [call] = await pending(runId);
    expect(call).toMatchObject({ tool: 'terminal', arguments: { command: 'touch ran' } });
    await answer(runId, { tool_call_id: call!.tool_call_id, output: 'ran it here' });
    await endsAs(api, runId, 'run.completed');
    const offered = world.model.requests.at(-1)!.body.tools!.map((entry) => entry.function.name);
    expect(offered.filter((name) => name === 'terminal')).toHaveLength(1);
  });

  test('calls one at a time if it asks for that, and the model is told', async () => {
    const prompt = script([{ tools: [weather('Oslo'), weather('Rome')] }, { text: 'ok' }]);
    const runId = await start(prompt, { parallel_tool_calls: false });
    const calls = await pending(runId);
    expect(calls).toHaveLength(1);
    await answer(runId, { tool_call_id: calls[0]!.tool_call_id, output: 'snow' });
    await endsAs(api, runId, 'run.completed');
    expect(toldOf(world, prompt)[1]!.content).toContain('one call of its tools at a time');
    expect(world.model.requests.at(-1)!.body).toMatchObject({ parallel_tool_calls: false });
  });

  test('passes its choice of a tool on, for the first step', async () => {
    const named = { type: 'function', function: { name: 'get_weather' } };
    const prompt = script([{ tools: [weather('Oslo')] }, { text: 'ok' }]);
    const runId = await start(prompt, { tool_choice: named });
    const [call] = await pending(runId);
    expect(world.model.requests.at(-1)!.body).toMatchObject({ tool_choice: named, tools: [WEATHER] });
    await answer(runId, { tool_call_id: call!.tool_call_id, output: 'snow' });
    await endsAs(api, runId, 'run.completed');
    expect(world.model.requests.at(-1)!.body).toMatchObject({ tool_choice: 'auto' });
  });

  test('is cancelled at once by a stop, and takes a steer', async () => {
    const stopped = await start(script([{ tools: [weather('Oslo')] }, { text: 'ok' }]));
    const [call] = await pending(stopped);
    await waitFor('the worker to let go', async () => (await load()).leased === 0);
    await api.post(`/v1/runs/${stopped}/stop`);
    expect(await api.run(stopped)).toMatchObject({ status: 'cancelled' });
    expect(await answer(stopped, { tool_call_id: call!.tool_call_id, output: '' })).toMatchObject({
      status: 409,
    });

    const prompt = script([{ tools: [weather('Rome')] }, { text: 'ok' }]);
    const steered = await start(prompt);
    const [other] = await pending(steered);
    expect(await api.post(`/v1/runs/${steered}/steer`, { input: 'in Celsius' })).toMatchObject({
      status: 200,
    });
    await answer(steered, { tool_call_id: other!.tool_call_id, output: '20' });
    await endsAs(api, steered, 'run.completed');
    expect(JSON.stringify(world.model.requests.at(-1)!.body.messages)).toContain('in Celsius');
  });

  test('holds no worker for background work of the client', async () => {
    const parameters = { type: 'object' };
    const runId = await start(
      script([{ tools: [terminal('sleep 600', { background: true })] }, { tools: [weather('Oslo')] }]),
      { tools: [WEATHER, { type: 'function', function: { name: 'terminal', parameters } }] },
    );
    const [begun] = await pending(runId);
    await answer(runId, { tool_call_id: begun!.tool_call_id, output: 'proc_1 runs' });
    await waitFor('the next call', async () => {
      const [call] = (await api.run(runId)).pending_calls ?? [];
      return call?.tool === 'get_weather';
    });
    await waitFor('the worker to let go', async () => (await load()).leased === 0);
    await api.post(`/v1/runs/${runId}/stop`);
    await endsAs(api, runId, 'run.cancelled');
  });

  test('keeps its background processes while it waits', async () => {
    const runId = await start(
      script([
        { tools: [terminal('sleep 600', { background: true })] },
        { tools: [weather('Oslo')] },
        { tools: [{ name: 'process', arguments: { action: 'list' } }] },
        { text: 'ok' },
      ]),
    );
    const [call] = await pending(runId);
    await answer(runId, { tool_call_id: call!.tool_call_id, output: 'snow' });
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(names(frames)).not.toContain('run.resumed');
    expect(ofKind(frames, 'tool.completed').at(-1)!.preview).toContain('running');
  });

  // test/chaos/client-tools-survive-kill.test.ts shows the same of kill -9.
  test('waits through a restart, and is answered after it', async () => {
    const runId = await start(script([{ tools: [weather('Oslo')] }, { text: 'It snows' }]));
    const [call] = await pending(runId);
    await shared.server.restart();
    api = world.api;
    expect(await api.run(runId)).toMatchObject({ status: 'waiting_for_tool' });
    await answer(runId, { tool_call_id: call!.tool_call_id, output: 'snow' });
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(ofKind(frames, 'tool.completed')).toHaveLength(1);
  });

  test.each([
    ['tools that are no list', { tools: 'x' }, 'invalid_tools'],
    ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, 'invalid_tools'],
    ['a tool twice', { tools: [WEATHER, WEATHER] }, 'invalid_tools'],
    [
      'parameters of a type that does not exist',
      { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'objekt' } } }] },
      'invalid_tools',
    ],
    ['a choice of none of them', { tool_choice: { function: { name: 'nope' } } }, 'invalid_request'],
  ])('is refused with %s', async (_, fields, code) => {
    const answered = await api.post('/v1/runs', { input: 'hi', tools: [WEATHER], ...fields });
    expect(answered).toMatchObject({ status: 400, body: { error: { code } } });
  });

  test.each([
    ['no outputs', {}],
    ['an empty list', { outputs: [] }],
    ['an output without its call', { outputs: [{ output: 'x' }] }],
    ['a call without an output', { outputs: [{ tool_call_id: 'a' }] }],
    [
      'one call twice',
      {
        outputs: [
          { tool_call_id: 'a', output: '' },
          { tool_call_id: 'a', output: '' },
        ],
      },
    ],
  ])('outputs are refused with %s', async (_, body) => {
    const runId = await api.create('hi');
    expect(await api.post(`/v1/runs/${runId}/tool_outputs`, body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_tool_outputs' } },
    });
  });
});

describe('a waiting run', () => {
  test('has a unique id for each call, even if the model repeats earlier ones', async () => {
    await using forgetful = await ServerWithModel.start({ TALARIA_CONTEXT_TOKENS: '12000' });
    world = forgetful;
    api = world.api;
    const numbered = { tools: [{ ...weather('Oslo'), id: 'call_0' }] };
    const runId = await start(script([numbered, numbered, numbered]));
    const asked: PendingCall[] = [];
    for (let n = 0; n < 3; n += 1) {
      const call = await waitFor('the next call', async () => {
        const { last_event, pending_calls: [next] = [] } = await api.run(runId);
        const isNew = next !== undefined && next.expires_at > (asked.at(-1)?.expires_at ?? 0);
        return last_event === 'run.waiting' && isNew && next;
      });
      asked.push(call);
      if (n < 2) await answer(runId, { tool_call_id: call.tool_call_id, output: 'snow '.repeat(8_000) });
    }
    expect(new Set(asked.map(({ tool_call_id }) => tool_call_id)).size).toBe(3);
    expect((await api.run(runId)).omitted_messages).toBeGreaterThan(0);
    await api.post(`/v1/runs/${runId}/stop`);
  });

  test('the model is told when the client does not answer in time', async () => {
    await using hurried = await ServerWithModel.start({ TALARIA_CLIENT_TOOL_TIMEOUT_SECONDS: '0.5' });
    world = hurried;
    api = world.api;
    const prompt = script([{ tools: [weather('Oslo')] }, { text: 'No idea' }]);
    const runId = await start(prompt);
    const { output, frames } = await endsAs(api, runId, 'run.completed');
    expect(output).toBe('No idea');
    const [started] = ofKind(frames, 'tool.started');
    expect(toldOf(world, prompt)[0]!.content).toContain('The client sent no output within');
    expect(await answer(runId, { tool_call_id: started!.tool_call_id, output: 'late' })).toMatchObject({
      status: 409,
    });
    await waitForStatus(api, runId, 'completed');
  });
});
