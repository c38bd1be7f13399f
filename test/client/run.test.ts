/** `runs.run`: create, follow, answer approvals, return the finished run. Against the real server. */
import { type RunEvent, Talaria } from '@talaria/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerWithModel, terminal, waitForApproval } from '../e2e/server-with-model.ts';
import { errorOf } from '../support/error-of.ts';
import { type Step, script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';

let world: ServerWithModel;
let client: Talaria;
beforeAll(async () => {
  world = await ServerWithModel.start();
  client = new Talaria({ baseUrl: world.server.url });
});
afterAll(() => world[Symbol.asyncDispose]());

const GATED: Step[] = [{ tools: [terminal('rm -rf build; echo ran')] }, { text: 'done' }];

/** Whether each tool call failed. */
async function outcomes(runId: string): Promise<boolean[]> {
  const { frames } = await world.api.stream(runId);
  return frames.flatMap(({ event }) => (event.event === 'tool.completed' ? [event.error] : []));
}

test('a run is followed to its end and returned, with every event on the way', async () => {
  const events: RunEvent[] = [];
  const run = await client.runs.run(
    { input: script([{ text: 'hello', tools: [terminal('echo a')] }, { text: 'bye' }]), session_id: 'mine' },
    { onEvent: (event) => events.push(event) },
  );
  expect(run).toMatchObject({ status: 'completed', output: 'bye', session_id: 'mine' });
  expect(events).toEqual((await world.api.stream(run.run_id)).frames.map(({ event }) => event));
});

test('a run that fails is returned as well: it is an outcome, not an error of the call', async () => {
  const run = await client.runs.run({ input: script([{ error: { status: 401, message: 'no' } }]) });
  expect(run).toMatchObject({ status: 'failed', error_code: 'provider_auth' });
});

test('the next event waits until the callback has finished', async () => {
  let busy = 0;
  let most = 0;
  await client.runs.run(
    { input: script([{ text: 'one two three', chunks: 3, delayMs: 30 }]) },
    {
      onEvent: async () => {
        most = Math.max(most, ++busy);
        await new Promise((resolve) => setTimeout(resolve, 20));
        busy--;
      },
    },
  );
  expect(most).toBe(1);
});

test('an error in the callback ends the call, not the run', async () => {
  let runId = '';
  const running = client.runs.run(
    { input: script([{ text: 'on and on' }]) },
    {
      onEvent: ({ run_id }) => {
        runId = run_id;
        throw new Error('enough');
      },
    },
  );
  expect(await errorOf(running)).toEqual(new Error('enough'));
  expect(await client.runs.wait(runId)).toMatchObject({ status: 'completed' });
});

test('a signal ends the call with its reason, not the run', async () => {
  const abort = new AbortController();
  const running = client.runs.run({ input: script(GATED), session_id: 'left' }, { signal: abort.signal });
  const { run_id } = await waitFor(
    'the run',
    async () => (await client.runs.list({ session_id: 'left' })).data[0],
  );
  await waitForApproval(world.api, run_id);
  abort.abort(new Error('enough'));
  expect(await errorOf(running)).toEqual(new Error('enough'));
  expect(await client.runs.get(run_id)).toMatchObject({ status: 'waiting_for_approval' });
});

describe('approvals', () => {
  test.each([
    ['once', false],
    ['deny', true],
  ] as const)("are answered with the callback's choice: %s", async (choice, error) => {
    const asked: string[] = [];
    const run = await client.runs.run(
      { input: script(GATED) },
      {
        onApproval: async ({ command }) => {
          asked.push(command);
          return choice;
        },
      },
    );
    expect(run.status).toBe('completed');
    expect(asked).toEqual(['rm -rf build; echo ran']);
    expect(await outcomes(run.run_id)).toEqual([error]);
  });

  test('can be answered for all that wait', async () => {
    let asked = 0;
    const tools = [terminal('rm -rf a; echo 1'), terminal('rm -rf b; echo 2')];
    const run = await client.runs.run(
      { input: script([{ tools }, { text: 'done' }]) },
      {
        onApproval: async () => {
          asked++;
          return { choice: 'once', all: true };
        },
      },
    );
    expect(asked).toBe(1);
    expect(await outcomes(run.run_id)).toEqual([false, false]);
  });

  test('come one after the other, each to its own question', async () => {
    const tools = [terminal('rm -rf a; echo 1'), terminal('rm -rf b; echo 2')];
    const commands: string[] = [];
    const run = await client.runs.run(
      { input: script([{ tools }, { text: 'done' }]) },
      {
        onApproval: async ({ command }) => {
          commands.push(command);
          return command.includes('rm -rf a') ? 'deny' : 'once';
        },
      },
    );
    expect(commands).toHaveLength(2);
    expect(await outcomes(run.run_id)).toEqual([true, false]);
  });

  test('can be left to somebody else; the callback hears when the question is settled', async () => {
    let settled: AbortSignal | undefined;
    const running = client.runs.run(
      { input: script([GATED[0]!, { gate: 'settled', text: 'done' }]), session_id: 'else' },
      {
        onApproval: async (_, { signal }) => {
          settled = signal;
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          return 'once';
        },
      },
    );
    await waitFor('the question', () => settled);
    const { run_id } = (await client.runs.list({ session_id: 'else' })).data[0]!;
    expect(settled!.aborted).toBe(false);
    await client.runs.respondApproval(run_id, { choice: 'deny' });
    await waitFor('the callback to be told', () => settled!.aborted);
    world.model.open('settled');
    expect(await running).toMatchObject({ status: 'completed' });
    expect(await outcomes(run_id)).toEqual([true]);
  });

  test('do not matter when somebody else answered faster', async () => {
    const answers: number[] = [];
    const watching = new Talaria({
      baseUrl: world.server.url,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (url.endsWith('/approval')) answers.push(response.status);
        return response;
      },
    });
    const run = await watching.runs.run(
      { input: script(GATED) },
      {
        // Delays the news that the question is settled until the late answer was refused.
        onEvent: ({ event }) =>
          event === 'approval.request' && waitFor('the late answer', () => answers.length > 0),
        onApproval: async ({ run_id, request_id }) => {
          await world.api.approve(run_id, 'deny', { request_id });
          return 'once';
        },
      },
    );
    expect(answers).toEqual([409]);
    expect(await outcomes(run.run_id)).toEqual([true]);
  });

  test('that fail end the call with the error, also while nothing else happens', async () => {
    const running = client.runs.run(
      { input: script(GATED) },
      { onApproval: () => Promise.reject(new Error('no terminal')) },
    );
    expect(await errorOf(running)).toEqual(new Error('no terminal'));
  });
});
