/** `tools.serve`: a process that runs tools for the runs of others, against the real server. */
import { AuthenticationError, type ServedCall, type ServeOptions, Talaria } from '@talaria/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { toldOf } from '../e2e/played-run.ts';
import { ServerWithModel } from '../e2e/server-with-model.ts';
import { errorOf } from '../support/error-of.ts';
import { type ScriptedTool, script } from '../support/model-server.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

let world: ServerWithModel;
let client: Talaria;
beforeAll(async () => {
  world = await ServerWithModel.start();
  client = new Talaria({ baseUrl: world.server.url });
});
afterAll(() => world[Symbol.asyncDispose]());

const Named = z.object({ name: z.string() });
type Execute = (args: { name: string }, context: { runId: string; signal: AbortSignal }) => unknown;

const called = (tool: string, name = 'x'): ScriptedTool => ({ name: tool, arguments: { name } });

/** Starts a run that calls the tool of this name, once for each of `names`. */
async function start(
  by: Talaria,
  tool: string,
  ...names: string[]
): Promise<{ runId: string; input: string }> {
  const input = script([{ tools: names.map((name) => called(tool, name)) }, { text: 'done' }]);
  const { run_id } = await by.runs.create({ input, tools: { [tool]: { parameters: Named } } });
  return { runId: run_id, input };
}

/** Serves one tool until the end of the block, and then waits for the calls in progress. */
function serving(by: Talaria, tool: string, execute: Execute, options: ServeOptions = {}) {
  const stop = new AbortController();
  const tools = { [tool]: { parameters: Named, execute } };
  const ended = by.tools.serve({ tools, signal: stop.signal, pollInterval: 50, ...options });
  ended.catch(() => {});
  return {
    ended,
    stop: () => stop.abort(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

test('serves runs whoever started them, each call once, with as many side by side as allowed', async () => {
  const names: string[] = [];
  let [now, most] = [0, 0];
  await using _ = serving(
    client,
    'many',
    async ({ name }) => {
      names.push(name);
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 20));
      now--;
      return name;
    },
    { concurrency: 3 },
  );
  const expected = Array.from({ length: 24 }, (_, i) => `${i}`);
  const other = new Talaria({ baseUrl: world.server.url });
  const runs = await Promise.all(
    [0, 1, 2, 3, 4, 5, 6, 7].map((i) => start(other, 'many', ...expected.slice(i * 3, i * 3 + 3))),
  );
  for (const { runId } of runs) expect(await client.runs.wait(runId)).toMatchObject({ status: 'completed' });
  expect(names.sort()).toEqual([...expected].sort());
  expect(most).toBe(3);
  expect(toldOf(world, runs[1]!.input).map(({ content }) => content)).toEqual(['3', '4', '5']);
});

test('ignores calls of other tools', async () => {
  await using _ = serving(client, 'mine', () => 'mine');
  const input = script([{ tools: [called('mine'), called('theirs')] }, { text: 'done' }]);
  const tools = { mine: { parameters: Named }, theirs: { parameters: Named } };
  const { run_id } = await client.runs.create({ input, tools });
  const [left] = await waitFor('one to be answered', async () => {
    const { pending_calls: pending } = await client.runs.get(run_id);
    return pending?.length === 1 && pending;
  });
  expect(left!.tool).toBe('theirs');
  await client.runs.stop(run_id);
});

test('the model and onError hear of a tool that throws', async () => {
  const errors: { error: unknown; call: ServedCall | undefined }[] = [];
  await using _ = serving(
    client,
    'throwing',
    () => {
      throw new Error('out of order');
    },
    { onError: (error, call) => errors.push({ error, call }) },
  );
  const { runId, input } = await start(client, 'throwing', 'x');
  expect(await client.runs.wait(runId)).toMatchObject({ status: 'completed' });
  const [told] = toldOf(world, input);
  expect(told!.content).toContain('out of order');
  const call = { runId, toolCallId: told!.tool_call_id, tool: 'throwing' };
  expect(errors).toEqual([{ error: new Error('out of order'), call }]);
});

describe('the signal of a call', () => {
  test.each(['stopped', 'answered'])('aborts when the run was %s by somebody else', async (how) => {
    let signal: AbortSignal | undefined;
    await using _ = serving(client, how, async (_args, context) => {
      signal = context.signal;
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
    });
    const { runId } = await start(client, how, 'x');
    await waitFor('the call', () => signal);
    const [call] = (await client.runs.get(runId)).pending_calls!;
    if (how === 'stopped') await client.runs.stop(runId);
    else await client.runs.toolOutputs(runId, [{ tool_call_id: call!.tool_call_id, output: 'other' }]);
    await waitFor('the call to be told', () => signal!.aborted);
    await client.runs.wait(runId);
  });
});

test('stops when its signal aborts, and sends the outputs of calls in progress', async () => {
  const { promise: slow, resolve: finish } = Promise.withResolvers<void>();
  const begun: string[] = [];
  const server = serving(client, 'stopping', async ({ name }) => {
    begun.push(name);
    await slow;
    return name;
  });
  const { runId } = await start(client, 'stopping', 'x');
  await waitFor('the call', () => begun.length === 1);
  server.stop();
  const { runId: later } = await start(client, 'stopping', 'later');
  await waitFor('a run that is not served', async () => (await client.runs.get(later)).pending_calls);
  finish();
  await server.ended;
  expect(await client.runs.wait(runId)).toMatchObject({ status: 'completed' });
  expect(begun).toEqual(['x']);
  expect(await client.runs.get(later)).toMatchObject({ status: 'waiting_for_tool' });
  await client.runs.stop(later);
});

test('waits for a server that is killed meanwhile, and runs no call twice', { tags: ['soak'] }, async () => {
  await using restarted = await ServerWithModel.startProcess();
  await using proxy = await UnreliableProxy.start(() => restarted.server.url, 1);
  const far = new Talaria({ baseUrl: proxy.url });
  const names: string[] = [];
  const failures: unknown[] = [];
  const { promise: slow, resolve: finish } = Promise.withResolvers<void>();
  await using _ = serving(
    far,
    'durable',
    async ({ name }) => {
      names.push(name);
      if (name === 'slow') await slow;
      return name;
    },
    { onError: (error) => failures.push(error) },
  );
  const first = await start(far, 'durable', 'slow');
  await waitFor('the call', () => names.length === 1);
  await restarted.server.kill();
  await waitFor('polls to fail', () => failures.length > 0);
  // The output has to wait for the server, too.
  finish();
  await restarted.server.start();
  const second = await start(far, 'durable', 'fast');
  for (const { runId } of [first, second]) {
    expect(await far.runs.wait(runId)).toMatchObject({ status: 'completed' });
  }
  expect(names).toEqual(['slow', 'fast']);
  expect(toldOf(restarted, first.input).map(({ content }) => content)).toEqual(['slow']);
});

describe('two that serve the same tool', () => {
  test('and share it run each call once', async () => {
    const names: string[][] = [[], []];
    const serve = (index: number) => {
      const by = new Talaria({ baseUrl: world.server.url });
      return serving(by, 'shared', ({ name }) => names[index]!.push(name), { share: { index, count: 2 } });
    };
    await using _first = serve(0);
    await using _second = serve(1);
    const expected = Array.from({ length: 12 }, (_, i) => `${i}`);
    const runs = await Promise.all(
      [0, 4, 8].map((at) => start(client, 'shared', ...expected.slice(at, at + 4))),
    );
    for (const { runId } of runs)
      expect(await client.runs.wait(runId)).toMatchObject({ status: 'completed' });
    expect(names.flat().sort()).toEqual([...expected].sort());
  });

  test('and do not share it: the faster output counts, the other does no harm', async () => {
    const errors: unknown[] = [];
    const begun: string[] = [];
    const serve = (who: string) =>
      serving(
        new Talaria({ baseUrl: world.server.url }),
        'contended',
        async () => {
          begun.push(who);
          await waitFor('the other', () => begun.length === 2);
          return who;
        },
        { onError: (error) => errors.push(error) },
      );
    await using _first = serve('a');
    await using _second = serve('b');
    const { runId, input } = await start(client, 'contended', 'x');
    expect(await client.runs.wait(runId)).toMatchObject({ status: 'completed' });
    expect(begun.sort()).toEqual(['a', 'b']);
    expect(['a', 'b']).toContain(toldOf(world, input)[0]!.content);
    expect(errors).toEqual([]);
  });
});

test('a call that run() runs is not also served by the same client', async () => {
  let polls = 0;
  const one = new Talaria({
    baseUrl: world.server.url,
    fetch: (url, init) => {
      if (url.includes('status=waiting_for_tool')) polls++;
      return fetch(url, init);
    },
  });
  const ran: string[] = [];
  const own = {
    parameters: Named,
    execute: async () => {
      ran.push('run');
      const seen = polls;
      await waitFor('further polls', () => polls > seen + 2);
    },
  };
  const input = script([{ tools: [called('own')] }, { text: 'done' }]);
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const running = one.runs.run({ input, tools: { own } }, { onEvent: () => resolve() });
  await begun;
  await waitFor('the call', () => ran.length > 0);
  await using _ = serving(one, 'own', () => ran.push('served'));
  expect(await running).toMatchObject({ status: 'completed' });
  expect(ran).toEqual(['run']);
});

test('a wrong key ends it with an error', async () => {
  await using keyed = await ServerWithModel.start({ API_SERVER_KEY: 'sk-right' });
  const wrong = new Talaria({ baseUrl: keyed.server.url, apiKey: 'sk-wrong' });
  const { ended } = serving(wrong, 'any', () => '');
  expect(await errorOf(ended)).toBeInstanceOf(AuthenticationError);
});

test('an onError that throws ends it with that error', async () => {
  const fault = new Error('no log');
  const { ended } = serving(
    client,
    'faulty',
    () => {
      throw new Error('out of order');
    },
    {
      onError: () => {
        throw fault;
      },
    },
  );
  const { runId } = await start(client, 'faulty', 'x');
  expect(await errorOf(ended)).toBe(fault);
  expect(await client.runs.wait(runId)).toMatchObject({ status: 'completed' });
});

test('refuses an invalid share', async () => {
  const { ended } = serving(client, 'any', () => '', { share: { index: 2, count: 2 } });
  expect(await errorOf(ended)).toBeInstanceOf(TypeError);
});
