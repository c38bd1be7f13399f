/**
 * One answer to one question: a chat completion that is requested again, beside the first, after it, after a restart.
 */
import type { ChatCompletion } from '@talaria/protocol';
import { expect, test } from 'vitest';
import type { Answer } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { postStream } from '../support/posted-stream.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ServerWithModel, terminal, waitForStatus } from './server-with-model.ts';

const PATH = '/v1/chat/completions';
const HEADERS = { 'idempotency-key': 'one-answer' };

type Ask = (prompt: string) => Promise<Answer<ChatCompletion>>;

function asking(world: ServerWithModel): Ask {
  return (prompt) => world.api.post(PATH, bodyOf(prompt), HEADERS);
}

function bodyOf(prompt: string, fields: object = {}) {
  return { messages: [{ role: 'user', content: prompt }], ...fields };
}

async function onlyRun(world: ServerWithModel) {
  const { data } = await world.api.list();
  expect(data).toHaveLength(1);
  return data[0]!;
}

/** Checks the answer, and that it came from one run and one model call. */
async function expectOneAnswer(world: ServerWithModel, answers: Answer<ChatCompletion>[], text: string) {
  const { run_id } = await onlyRun(world);
  for (const { status, headers, body } of answers) {
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toEqual(answers[0]!.body);
    expect(body.choices[0]!.message.content).toBe(text);
    expect(headers.get('x-talaria-run-id')).toBe(run_id);
  }
}

test('ten at once and one later are one run', async () => {
  await using world = await ServerWithModel.start();
  const prompt = script([{ gate: 'held', text: 'for all' }]);
  const asked = Array.from({ length: 10 }, () => asking(world)(prompt));
  await world.model.waitingAt('held');
  world.model.open('held');
  const answers = await Promise.all(asked);
  await expectOneAnswer(world, [...answers, await asking(world)(prompt)], 'for all');
  expect(world.model.requests).toHaveLength(1);
});

test('the answer is the same after a restart', async () => {
  await using world = await ServerWithModel.startProcess();
  const prompt = script([{ text: 'as before' }]);
  const before = await asking(world)(prompt);
  await world.server.kill('SIGTERM');
  await world.server.start();
  await expectOneAnswer(world, [before, await asking(world)(prompt)], 'as before');
  expect(world.model.requests).toHaveLength(1);
});

test('after a kill and a restart the run continues, and the repeated question gets its answer', async () => {
  await using world = await ServerWithModel.startProcess({ TALARIA_INLINE_GRACE_SECONDS: '0' });
  const prompt = script([{ tools: [terminal('echo begun')] }, { gate: 'held', text: 'nevertheless' }]);
  const lost = asking(world)(prompt).catch((error: unknown) => error);
  await world.model.waitingAt('held');
  await world.server.kill('SIGKILL');
  expect(await lost).toBeInstanceOf(TypeError);
  await world.server.start();
  await waitForStatus(world.api, (await onlyRun(world)).run_id, 'running');
  const again = asking(world)(prompt);
  world.model.open('held');
  await expectOneAnswer(world, [await again], 'nevertheless');
});

test('after a kill the run continues to its end even if nobody asks again', async () => {
  await using world = await ServerWithModel.startProcess({ TALARIA_INLINE_GRACE_SECONDS: '0' });
  const prompt = script([{ gate: 'held', text: 'for nobody' }]);
  const streamed = postStream(world.api, PATH, bodyOf(prompt, { stream: true }));
  await world.model.waitingAt('held');
  await world.server.kill('SIGKILL');
  expect((await streamed).clean).toBe(false);
  await world.server.start();
  world.model.open('held');
  await endsAs(world.api, (await onlyRun(world)).run_id, 'run.completed');
});

test.each([
  ['a short', 'half an '],
  // More than one read of the log returns.
  ['a long', `${'half '.repeat(60_000)}an `],
])(
  'a stream that was cut off in %s text is complete after the restart, and has nothing twice',
  async (_, half) => {
    await using world = await ServerWithModel.startProcess();
    const prompt = script([{ chunks: [half, { gate: 'held' }, 'answer'] }]);
    const body = bodyOf(prompt, { stream: true });
    const cut = await postStream(world.api, PATH, body, {
      headers: HEADERS,
      onFrame({ data }) {
        if (data.includes('an ')) void world.server.kill('SIGKILL');
      },
    });
    expect(cut.clean).toBe(false);
    await world.server.exited();
    await world.server.start();
    world.model.open('held');
    const { run_id } = await onlyRun(world);
    await endsAs(world.api, run_id, 'run.completed');
    const again = await postStream(world.api, PATH, body, { headers: HEADERS });
    const text = again.frames
      .filter(({ data }) => data !== '[DONE]')
      .map(({ data }) => JSON.parse(data).choices[0].delta.content ?? '')
      .join('');
    expect(text === `${half}answer`).toBe(true);
    expect(again.frames.at(-1)!.data).toBe('[DONE]');
    expect(JSON.parse(again.frames[0]!.data)).toEqual(JSON.parse(cut.frames[0]!.data));
  },
);

test('a server that shuts down tells waiting clients which run continues; a retry gets the answer', async () => {
  await using world = await ServerWithModel.startProcess({
    TALARIA_INLINE_GRACE_SECONDS: '0',
    TALARIA_DRAIN_SECONDS: '0.1',
  });
  const prompt = script([{ gate: 'held', text: 'later' }]);
  const keyed = asking(world)(prompt);
  await world.model.waitingAt('held');
  const { run_id } = await onlyRun(world);
  const other = script([{ gate: 'held', text: 'unwanted' }]);
  const unkeyed = world.api.post<object>(PATH, bodyOf(other));
  const streamed = postStream(world.api, PATH, bodyOf(other, { stream: true }));
  await waitFor('three runs', async () => (await world.api.list('?status=running')).data.length === 3);
  await world.server.kill('SIGTERM');

  const draining = { error: { code: 'gateway_draining', message: expect.stringContaining('continues') } };
  const [one, two, three] = await Promise.all([keyed, unkeyed, streamed]);
  expect(one).toMatchObject({ status: 503, body: draining });
  expect(one.headers.get('x-talaria-run-id')).toBe(run_id);
  expect(one.headers.get('x-should-retry'), 'the same request is the same run').toBe('true');
  expect(one.headers.get('retry-after')).toBe('1');
  expect(two).toMatchObject({ status: 422, body: draining });
  expect(two.headers.get('x-should-retry'), 'the same request would be a second run').toBe('false');
  expect(JSON.parse(three.frames.at(-2)!.data)).toMatchObject(draining);
  expect(three.clean).toBe(true);

  await world.server.start();
  const again = asking(world)(prompt);
  world.model.open('held');
  expect((await again).body.choices[0]!.message.content).toBe('later');
  for (const run of (await world.api.list()).data) await endsAs(world.api, run.run_id, 'run.completed');
  expect((await world.api.list()).data).toHaveLength(3);
});

test('a client that comes back within the grace keeps its run', async () => {
  await using world = await ServerWithModel.start({ TALARIA_INLINE_GRACE_SECONDS: '1' });
  const prompt = script([{ gate: 'held', text: 'still here' }]);
  const body = bodyOf(prompt, { stream: true });
  // Both leave at once; the first is back before the second leaves, whose run is stopped later.
  const leave = { headers: HEADERS, until: () => true };
  await postStream(world.api, PATH, body, leave);
  const back = postStream(world.api, PATH, body, { headers: HEADERS });
  await waitFor('it to be back', async () => {
    const { body } = await world.api.get<{ platforms: { api_server: { subscribers: number } } }>(
      '/health/detailed',
    );
    return body.platforms.api_server.subscribers === 1;
  });
  const left = await postStream(world.api, PATH, body, { until: () => true });
  await endsAs(world.api, left.headers.get('x-talaria-run-id')!, 'run.cancelled');
  world.model.open('held');
  const { frames, headers } = await back;
  expect(frames.at(-1)!.data).toBe('[DONE]');
  expect(await world.api.run(headers.get('x-talaria-run-id')!)).toMatchObject({ status: 'completed' });
});
