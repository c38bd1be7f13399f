/** Stop ends a run in bounded time whatever it was doing, with one terminal event and nothing left behind. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { processorWaits } from '../support/processor-waits.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  endsAs,
  markedSleep,
  names,
  processesWith,
  ServerWithModel,
  shownText,
  terminal,
  waitForApproval,
} from './server-with-model.ts';

const BOUND_MS = 5_000;

let world: ServerWithModel;
let api: Api;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_MAX_CONCURRENT_RUNS: '100' });
  api = world.api;
});
afterAll(() => world[Symbol.asyncDispose]());

/** Stops the run and follows it to its end. */
async function stopped(runId: string) {
  const since = performance.now();
  const waits = processorWaits();
  const answer = await api.stop(runId);
  expect(answer).toMatchObject({ status: 200, body: { run_id: runId, status: 'stopping' } });
  const end = await endsAs(api, runId, 'run.cancelled');
  expect(performance.now() - since - waits()).toBeLessThan(BOUND_MS);
  expect(await api.run(runId)).toMatchObject({ status: 'cancelled', last_event: 'run.cancelled' });
  return end;
}

describe('during a model call', () => {
  test('before the answer began: the request to the provider is aborted', async () => {
    const prompt = script([{ hang: 'before' }]);
    const runId = await api.create(prompt);
    const request = await world.model.waitForRequest(({ scriptId }) => prompt.includes(`id=${scriptId} `));
    const end = await stopped(runId);
    expect(end).not.toHaveProperty('usage_so_far');
    await waitFor('the provider to notice', () => request.aborted);
  });

  test('in the middle of the answer: what was shown stays, the request is aborted', async () => {
    const prompt = script([{ hang: 'mid', chunks: ['half an ', 'answer'] }]);
    const runId = await api.create(prompt);
    const request = await world.model.waitForRequest(({ scriptId }) => prompt.includes(`id=${scriptId} `));
    await api.stream(runId, { until: ({ event }) => event.event === 'message.delta' });
    const { frames } = await stopped(runId);
    expect(shownText(frames)).toBe('half an ');
    await waitFor('the provider to notice', () => request.aborted);
  });

  test('of a later step: the tokens of the earlier ones are reported', async () => {
    const runId = await api.create(
      script([
        { tools: [terminal('true')], usage: { input: 70, output: 7 } },
        { gate: 'never-1', text: 'unsaid' },
      ]),
    );
    await world.model.waitingAt('never-1');
    const end = await stopped(runId);
    const usage = { input_tokens: 70, output_tokens: 7, total_tokens: 77 };
    expect(end.usage_so_far).toEqual(usage);
    expect((await api.run(runId)).usage_so_far).toEqual(usage);
  });

  test('in the pause before a retry: no further request is made', async () => {
    const prompt = script([{ error: { status: 503, message: 'busy', retryAfter: 60 } }]);
    const mine = () =>
      world.model.requests.filter(({ scriptId, ended }) => ended && prompt.includes(`id=${scriptId} `));
    const runId = await api.create(prompt);
    await waitFor('the first try to fail', () => mine().length > 0);
    await stopped(runId);
    expect(mine()).toHaveLength(1);
  });
});

describe('during a tool', () => {
  test('the whole process tree dies, including what left the session and ignores signals', async () => {
    const { command: sleep, marker } = markedSleep();
    const command = `setsid ${sleep} & nohup ${sleep} >/dev/null 2>&1 & (trap '' TERM INT HUP; ${sleep}) & ${sleep}`;
    const runId = await api.create(script([{ tools: [terminal(command)] }, { text: 'unsaid' }]));
    await waitFor('the four of them to run', () => processesWith(marker).length >= 4);
    const { frames } = await stopped(runId);
    expect(names(frames)).not.toContain('tool.completed');
    expect(processesWith(marker)).toEqual([]);
  });

  test('several at once die together', async () => {
    const sleeps = [markedSleep(), markedSleep(), markedSleep()];
    const runId = await api.create(script([{ tools: sleeps.map(({ command }) => terminal(command)) }]));
    await waitFor('all to run', () => sleeps.every(({ marker }) => processesWith(marker).length > 0));
    await stopped(runId);
    expect(sleeps.flatMap(({ marker }) => processesWith(marker))).toEqual([]);
  });
});

describe('during an approval wait', () => {
  test('the question is void: the command does not run and cannot be approved any more', async () => {
    const runId = await api.create(script([{ tools: [terminal('rm -rf build')] }]));
    const { request_id } = await waitForApproval(api, runId);
    const { frames } = await stopped(runId);
    expect(names(frames).slice(-2)).toEqual(['approval.request', 'run.cancelled']);
    expect(await api.run(runId)).not.toHaveProperty('approval');
    const late = await api.approve(runId, 'once', { request_id });
    expect(late).toMatchObject({ status: 409, body: { error: { code: 'approval_not_active' } } });
  });
});

describe('more than one stop', () => {
  test('while stopping it gives the same answer again; after the end there is nothing to stop', async () => {
    const runId = await api.create(script([{ hang: 'before' }]));
    const answers = await Promise.all([api.stop(runId), api.stop(runId), api.stop(runId)]);
    for (const answer of answers) {
      // The later ones may come after the end of a run that was never claimed.
      if (answer.status === 200) expect(answer.body).toEqual({ run_id: runId, status: 'stopping' });
      else expect(answer).toMatchObject({ status: 404, body: { error: { code: 'run_not_active' } } });
    }
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    await endsAs(api, runId, 'run.cancelled');
    const late = await api.stop(runId);
    expect(late).toMatchObject({ status: 404, body: { error: { code: 'run_not_active' } } });
  });

  test('the body is ignored, even a broken one', async () => {
    const runId = await api.create(script([{ hang: 'before' }]));
    const answer = await api.request('POST', `/v1/runs/${runId}/stop`, {
      raw: '{"broken',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(200);
    await endsAs(api, runId, 'run.cancelled');
  });
});

test('right at the end: an accepted stop is never followed by a completion', async () => {
  async function stopAfter(ms: number) {
    const gate = `end-${ms}`;
    const runId = await api.create(script([{ chunks: ['almost ', { gate }, 'done'] }]));
    await world.model.waitingAt(gate);
    world.model.open(gate);
    // Spreads the stops over the last moments of the run; nothing depends on where one falls.
    await delay(ms);
    const { status, body } = await api.stop(runId);
    const { frames } = await api.stream(runId);
    const ends = names(frames).filter((name) => name.startsWith('run.'));
    return { status, code: (body as { error?: { code: string } }).error?.code, ends };
  }
  for (let ms = 0; ms < 45; ms += 1) {
    const outcome = await stopAfter(ms);
    if (outcome.status === 200) {
      expect(outcome).toEqual({ status: 200, code: undefined, ends: ['run.cancelled'] });
    } else {
      expect(outcome).toEqual({ status: 404, code: 'run_not_active', ends: ['run.completed'] });
    }
  }
});
