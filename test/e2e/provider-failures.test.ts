/** "Completed" means completed: whatever the provider does wrong is `failed` with a code, or is tried again. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { type Step, script } from '../support/model-server.ts';
import { endsAs, names, ServerWithModel, shownText, terminal } from './server-with-model.ts';

const RETRIES = 2;
/** Of a silent model, each of which takes IDLE_S. */
const SILENT_RETRIES = 1;
/** Longer than a busy machine delays anything between two words. */
const IDLE_S = 3;
const SLOWLY = [...'slowly but surely'];

let world: ServerWithModel;
let api: Api;
const startWorld = async (env: Record<string, string> = {}) => {
  world = await ServerWithModel.start({
    TALARIA_MODEL_RETRIES: String(RETRIES),
    TALARIA_MAX_CONCURRENT_RUNS: '100',
    ...env,
  });
  api = world.api;
};
beforeAll(() => startWorld());
afterAll(() => world[Symbol.asyncDispose]());

async function play(...steps: Step[]) {
  const prompt = script(steps);
  const runId = await api.create(prompt);
  const requests = () => world.model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `));
  return { runId, requests };
}

async function failsWith(runId: string, code: string) {
  const end = await endsAs(api, runId, 'run.failed');
  expect(end).toMatchObject({ error_code: code });
  return end;
}

describe.concurrent('failures that are not retried', () => {
  const cases: [string, Step, string][] = [
    ['a refused key', { error: { status: 401, message: 'Incorrect API key provided' } }, 'provider_auth'],
    ['a refused request', { error: { status: 400, message: 'tools[0] is bad' } }, 'provider_bad_request'],
    [
      'a conversation that is too long',
      { error: { status: 400, message: 'too long', code: 'context_length_exceeded' } },
      'context_overflow',
    ],
    [
      'a spent quota',
      { error: { status: 429, message: 'You exceeded your current quota', code: 'insufficient_quota' } },
      'provider_rate_limit',
    ],
    ['an empty answer', { empty: true }, 'empty_output'],
    ['an answer of white space', { text: ' \n ' }, 'empty_output'],
    ['a filtered answer', { text: 'I was about to', finish: 'content_filter' }, 'content_filtered'],
    ['an answer cut at the output limit', { text: 'and then', finish: 'length' }, 'output_truncated'],
  ];
  for (const [what, step, code] of cases) {
    test(`${what}: ${code}, after one request`, async () => {
      const { runId, requests } = await play(step);
      const end = await failsWith(runId, code);
      expect(requests()).toHaveLength(1);
      if (step.error) expect(end.error).toContain(step.error.message);
    });
  }

  test('the tokens of earlier steps and of a useless answer are reported', async () => {
    const { runId } = await play(
      { tools: [terminal('true')], usage: { input: 10, output: 1 } },
      { empty: true, usage: { input: 20, output: 2 } },
    );
    const end = await failsWith(runId, 'empty_output');
    expect(end.usage_so_far).toEqual({ input_tokens: 30, output_tokens: 3, total_tokens: 33 });
  });
});

describe.concurrent('failures that pass', () => {
  test('an unavailable provider is retried, then the run continues', async () => {
    const { runId, requests } = await play({
      error: { status: 503, message: 'overloaded' },
      times: RETRIES,
      text: 'here at last',
    });
    expect((await endsAs(api, runId, 'run.completed')).output).toBe('here at last');
    expect(requests()).toHaveLength(RETRIES + 1);
  });

  test('one that stays unavailable fails the run: provider_unavailable', async () => {
    const { runId, requests } = await play({ error: { status: 503, message: 'overloaded' } });
    expect((await failsWith(runId, 'provider_unavailable')).error).toContain('overloaded');
    expect(requests()).toHaveLength(RETRIES + 1);
  });

  test('a rate limit is retried no earlier than the provider asks: Retry-After', async () => {
    const { runId, requests } = await play({
      error: { status: 429, message: 'slow down', retryAfter: 2 },
      times: 1,
      text: 'thank you',
    });
    expect((await endsAs(api, runId, 'run.completed')).output).toBe('thank you');
    const [first, second] = requests();
    const pause = second!.at - first!.at;
    expect(pause).toBeGreaterThanOrEqual(1_990);
    expect(pause).toBeLessThan(6_000);
  });

  test('one that lasts fails the run: provider_rate_limit', async () => {
    const { runId, requests } = await play({
      error: { status: 429, message: 'slow down', retryAfterMs: 20 },
    });
    await failsWith(runId, 'provider_rate_limit');
    expect(requests()).toHaveLength(RETRIES + 1);
  });
});

describe.concurrent('a retry happens only while nothing of the step was shown', () => {
  test('a connection lost before the answer began is retried', async () => {
    const { runId, requests } = await play({ disconnect: 'before', times: 1, text: 'whole' });
    const end = await endsAs(api, runId, 'run.completed');
    expect(end.output).toBe('whole');
    expect(shownText(end.frames)).toBe('whole');
    expect(requests()).toHaveLength(2);
  });

  test('a connection lost after the headers, before any text, is retried', async () => {
    const { runId, requests } = await play({ disconnect: 'mid', chunks: [], times: 1 }, { text: 'x' });
    // The second attempt plays a step without text, which ends the run as empty: what matters is that it happened.
    await failsWith(runId, 'empty_output');
    expect(requests()).toHaveLength(2);
  });

  for (const [what, fault] of [
    ['a connection lost', { disconnect: 'mid' }],
    ['a stream that just ends', { truncated: true }],
    ['an error inside the stream', { streamError: { message: 'overloaded', type: 'server_error' } }],
    ['a chunk that is no JSON', { malformed: true }],
  ] as [string, Step][]) {
    test(`${what} after text was shown fails the run: no second beginning`, async () => {
      const { runId, requests } = await play({ ...fault, times: 1, chunks: ['begin', 'ning'] });
      const { frames, error_code } = await endsAs(api, runId, 'run.failed');
      expect(error_code).toMatch(/^provider_(unavailable|error)$/);
      expect(shownText(frames)).toBe('begin');
      expect(requests()).toHaveLength(1);
    });
  }

  test('reasoning that was shown counts as shown', async () => {
    const { runId, requests } = await play({
      reasoning: 'let me think',
      chunks: ['x'],
      disconnect: 'mid',
      times: 1,
    });
    const { frames } = await endsAs(api, runId, 'run.failed');
    expect(names(frames).filter((name) => name === 'reasoning.available')).toHaveLength(1);
    expect(requests()).toHaveLength(1);
  });
});

describe('a model that falls silent is given up', () => {
  beforeAll(async () => {
    await world[Symbol.asyncDispose]();
    await startWorld({
      TALARIA_MODEL_IDLE_SECONDS: String(IDLE_S),
      TALARIA_MODEL_RETRIES: String(SILENT_RETRIES),
    });
  });

  describe.concurrent('with a limit of its own', () => {
    test('before its answer began: retried', async () => {
      const { runId, requests } = await play({ hang: 'before', times: 1, text: 'awake' });
      expect((await endsAs(api, runId, 'run.completed')).output).toBe('awake');
      expect(requests().map(({ aborted }) => aborted)).toEqual([true, false]);
    });

    test('always: provider_unavailable after the retries', async () => {
      const { runId, requests } = await play({ hang: 'before' });
      expect((await failsWith(runId, 'provider_unavailable')).error).toContain(`was silent for ${IDLE_S} s`);
      expect(requests()).toHaveLength(SILENT_RETRIES + 1);
    });

    test('in the middle of its answer: failed', async () => {
      const { runId, requests } = await play({ hang: 'mid', chunks: ['so ', 'then'], times: 1 });
      const { frames, error_code } = await endsAs(api, runId, 'run.failed');
      expect(error_code).toBe('provider_unavailable');
      expect(shownText(frames)).toBe('so ');
      expect(requests()).toHaveLength(1);
    });

    test('a slow one that keeps talking is not', async () => {
      const { runId } = await play({ chunks: SLOWLY, delayMs: (IDLE_S * 1200) / SLOWLY.length });
      expect((await endsAs(api, runId, 'run.completed')).output).toBe(SLOWLY.join(''));
    });
  });
});
