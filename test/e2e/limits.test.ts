/** A run that spends its budget fails with the budget's own code, even while something hangs. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { processorWaits } from '../support/processor-waits.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, markedSleep, processesWith, ServerWithModel, terminal } from './server-with-model.ts';

const MAX_RUN_S = 2;
/** The grace period for what ignores its abort. */
const SLACK_S = 5;

let world: ServerWithModel;
let api: Api;
/** The tests of step and token limits use a server without a time limit, which a busy machine could reach first. */
function useServer(env: Record<string, string>): void {
  beforeAll(async () => {
    world = await ServerWithModel.start(env);
    api = world.api;
  });
  afterAll(() => world[Symbol.asyncDispose]());
}

async function failsWith(runId: string, code: string, server = api) {
  const waits = processorWaits();
  const end = await endsAs(server, runId, 'run.failed');
  expect(end.error_code).toBe(code);
  expect(end.error).not.toBe('');
  const run = await server.run(runId);
  expect(run).toMatchObject({ status: 'failed', error: end.error, error_code: code });
  expect(run.usage_so_far).toEqual(end.usage_so_far);
  return { ...end, tookS: run.updated_at - run.created_at, slackS: SLACK_S + waits() / 1000 };
}

describe.concurrent('time_limit', () => {
  useServer({ TALARIA_MAX_RUN_SECONDS: String(MAX_RUN_S) });

  test('while a model call hangs, whose request is aborted', async () => {
    const prompt = script([{ hang: 'before' }]);
    const runId = await api.create(prompt);
    const end = await failsWith(runId, 'time_limit');
    expect(end.tookS).toBeGreaterThanOrEqual(MAX_RUN_S - 0.1);
    expect(end.tookS).toBeLessThan(MAX_RUN_S + end.slackS);
    const mine = world.model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `));
    expect(mine).toHaveLength(1);
    await waitFor('the provider to notice', () => mine[0]?.aborted);
  });

  test('while a tool hangs, which is ended; the tokens spent are reported', async () => {
    const { command, marker } = markedSleep();
    const prompt = () =>
      script([{ tools: [terminal(command)], usage: { input: 20, output: 2 } }, { text: 'unsaid' }]);
    await using servers = new AsyncDisposableStack();
    let [server, maxRunS] = [api, MAX_RUN_S];
    let runId = await server.create(prompt());
    // On a busy machine the time may be over before the command runs; then a server that allows more tries it.
    await waitFor('the command to run', async () => {
      if (processesWith(marker).length > 0) return true;
      if ((await server.run(runId)).status !== 'failed') return false;
      maxRunS *= 4;
      server = servers.use(await ServerWithModel.start({ TALARIA_MAX_RUN_SECONDS: String(maxRunS) })).api;
      runId = await server.create(prompt());
      return false;
    });
    const end = await failsWith(runId, 'time_limit', server);
    expect(end.tookS).toBeLessThan(maxRunS + end.slackS);
    expect(end.usage_so_far).toEqual({ input_tokens: 20, output_tokens: 2, total_tokens: 22 });
    expect(processesWith(marker)).toEqual([]);
  });

  test('while an approval waits', async () => {
    const runId = await api.create(script([{ tools: [terminal('rm -rf build')] }, { text: 'unsaid' }]));
    const end = await failsWith(runId, 'time_limit');
    expect(end.tookS).toBeLessThan(MAX_RUN_S + end.slackS);
    const late = await api.approve(runId, 'once');
    expect(late).toMatchObject({ status: 409, body: { error: { code: 'approval_not_active' } } });
  });

  test('while a retry is paused', async () => {
    const runId = await api.create(script([{ error: { status: 503, message: 'busy', retryAfter: 60 } }]));
    const end = await failsWith(runId, 'time_limit');
    expect(end.tookS).toBeLessThan(MAX_RUN_S + end.slackS);
  });
});

describe('limits of what is spent', () => {
  useServer({ TALARIA_MAX_STEPS: '3', TALARIA_MAX_RUN_TOKENS: '100' });

  describe.concurrent('step_limit', () => {
    const small = { input: 1, output: 1 };
    const call = { tools: [terminal('true')], usage: small };

    test('no step is requested after the last', async () => {
      const prompt = script([call, call, call, { text: 'unsaid' }]);
      const runId = await api.create(prompt);
      const end = await failsWith(runId, 'step_limit');
      expect(end.usage_so_far).toEqual({ input_tokens: 3, output_tokens: 3, total_tokens: 6 });
      expect(world.model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `))).toHaveLength(
        3,
      );
    });

    test('an answer in the last step counts', async () => {
      const runId = await api.create(script([call, call, { text: 'in time', usage: small }]));
      expect((await endsAs(api, runId, 'run.completed')).output).toBe('in time');
    });
  });

  describe.concurrent('token_limit', () => {
    test('after a step that spent them, before the next', async () => {
      const prompt = script([
        { tools: [terminal('true')], usage: { input: 90, output: 10 } },
        { text: 'unsaid' },
      ]);
      const end = await failsWith(await api.create(prompt), 'token_limit');
      expect(end.usage_so_far).toEqual({ input_tokens: 90, output_tokens: 10, total_tokens: 100 });
      expect(world.model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `))).toHaveLength(
        1,
      );
    });

    test('while a stream runs away, which is aborted', async () => {
      const prompt = script([{ chunks: [...Array(20).fill('word '.repeat(10)), { gate: 'runaway-never' }] }]);
      await failsWith(await api.create(prompt), 'token_limit');
      const mine = world.model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `));
      expect(mine).toHaveLength(1);
      await waitFor('the provider to notice', () => mine[0]?.aborted);
    });

    test('a complete answer counts, even if it took more than was left', async () => {
      const runId = await api.create(script([{ text: 'dear', usage: { input: 500, output: 500 } }]));
      expect(await endsAs(api, runId, 'run.completed')).toMatchObject({
        output: 'dear',
        usage: { total_tokens: 1000 },
      });
    });
  });
});
