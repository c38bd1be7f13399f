/**
 * One answer to one question: a chat completion that is requested again, beside the first, after it, after a restart.
 */
import type { ChatCompletion } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, Api } from '../support/api.ts';
import type { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { postStream } from '../support/posted-stream.ts';
import { waitFor } from '../support/wait-for.ts';
import { describeRestart } from './one-restart.ts';
import { endsAs, ServerWithModel, terminal, waitForStatus } from './server-with-model.ts';

const KEYS = ['ten', 'before', 'waiting', 'back'] as const;
const keyOf = (name: (typeof KEYS)[number]) => `key-of-${name}-0123456789`;

const PATH = '/v1/chat/completions';
const HEADERS = { 'idempotency-key': 'one-answer' };

interface World {
  readonly api: Api;
}

type Ask = (prompt: string) => Promise<Answer<ChatCompletion>>;

function asking(world: World): Ask {
  return (prompt) => world.api.post(PATH, bodyOf(prompt), HEADERS);
}

function bodyOf(prompt: string, fields: object = {}) {
  return { messages: [{ role: 'user', content: prompt }], ...fields };
}

async function onlyRun(world: World) {
  const { data } = await world.api.list();
  expect(data).toHaveLength(1);
  return data[0]!;
}

/** Checks the answer, and that it came from one run and one model call. */
async function expectOneAnswer(world: World, answers: Answer<ChatCompletion>[], text: string) {
  const { run_id } = await onlyRun(world);
  for (const { status, headers, body } of answers) {
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toEqual(answers[0]!.body);
    expect(body.choices[0]!.message.content).toBe(text);
    expect(headers.get('x-talaria-run-id')).toBe(run_id);
  }
}

let server: ServerWithModel<HostedServer>;
beforeAll(async () => {
  server = await ServerWithModel.start({
    API_SERVER_KEYS: KEYS.map((name) => `${name}:${keyOf(name)}`).join(','),
    TALARIA_INLINE_GRACE_SECONDS: '0',
  });
});
afterAll(() => server[Symbol.asyncDispose]());

/** With a key that no other test has. */
function withKey(name: (typeof KEYS)[number]) {
  return {
    model: server.model,
    get api(): Api {
      return new Api(server.server.url, keyOf(name));
    },
  };
}

/** What the model was asked of this prompt. */
const requestsOf = (prompt: string) =>
  server.model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `));

test('ten at once and one later are one run', async () => {
  const world = withKey('ten');
  const prompt = script([{ gate: 'ten', text: 'for all' }]);
  const asked = Array.from({ length: 10 }, () => asking(world)(prompt));
  await world.model.waitingAt('ten');
  world.model.open('ten');
  const answers = await Promise.all(asked);
  await expectOneAnswer(world, [...answers, await asking(world)(prompt)], 'for all');
  expect(requestsOf(prompt)).toHaveLength(1);
});

describeRestart('after a kill', { env: { TALARIA_INLINE_GRACE_SECONDS: '0' } }, (test) => {
  test('the run continues, and the repeated question gets its answer', async (world) => {
    const prompt = script([{ tools: [terminal('echo begun')] }, { gate: 'asked', text: 'nevertheless' }]);
    const lost = asking(world)(prompt).catch((error: unknown) => error);
    await world.model.waitingAt('asked');
    await world.restart();
    expect(await lost).toBeInstanceOf(TypeError);
    await waitForStatus(world.api, (await onlyRun(world)).run_id, 'running');
    const again = asking(world)(prompt);
    world.model.open('asked');
    await expectOneAnswer(world, [await again], 'nevertheless');
  });

  test('the run continues to its end even if nobody asks again', async (world) => {
    const prompt = script([{ gate: 'unasked', text: 'for nobody' }]);
    const streamed = postStream(world.api, PATH, bodyOf(prompt, { stream: true }));
    await world.model.waitingAt('unasked');
    await world.restart();
    expect((await streamed).clean).toBe(false);
    world.model.open('unasked');
    await endsAs(world.api, (await onlyRun(world)).run_id, 'run.completed');
  });

  for (const [length, half] of [
    ['a short', 'half an '],
    // More than one read of the log returns.
    ['a long', `${'half '.repeat(60_000)}an `],
  ] as const) {
    test(`a stream that was cut off in ${length} text is complete, and has nothing twice`, async (world) => {
      const prompt = script([{ chunks: [half, { gate: length }, 'answer'] }]);
      const body = bodyOf(prompt, { stream: true });
      const halfSeen = Promise.withResolvers<void>();
      const streamed = postStream(world.api, PATH, body, {
        headers: HEADERS,
        onFrame({ data }) {
          if (data.includes('an ')) halfSeen.resolve();
        },
      });
      await Promise.race([halfSeen.promise, streamed]);
      await world.restart();
      const cut = await streamed;
      expect(cut.clean).toBe(false);
      world.model.open(length);
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
    });
  }
});

describe('after a shutdown', () => {
  test('the answer is the same as before', async () => {
    const world = withKey('before');
    const prompt = script([{ text: 'as before' }]);
    const before = await asking(world)(prompt);
    await server.server.restart();
    await expectOneAnswer(world, [before, await asking(world)(prompt)], 'as before');
    expect(requestsOf(prompt)).toHaveLength(1);
  });

  test('a client that waited knows which run continues, and a retry gets the answer', async () => {
    const world = withKey('waiting');
    const prompt = script([{ gate: 'later', text: 'later' }]);
    const keyed = asking(world)(prompt);
    await world.model.waitingAt('later');
    const { run_id } = await onlyRun(world);
    const other = script([{ gate: 'later', text: 'unwanted' }]);
    const unkeyed = world.api.post<object>(PATH, bodyOf(other));
    const streamed = postStream(world.api, PATH, bodyOf(other, { stream: true }));
    await waitFor('three runs', async () => (await world.api.list('?status=running')).data.length === 3);
    await server.server.restart();

    const draining = { error: { code: 'gateway_draining', message: expect.stringContaining('continues') } };
    const [one, two, three] = await Promise.all([keyed, unkeyed, streamed]);
    expect(one).toMatchObject({ status: 503, body: draining });
    expect(one.headers.get('x-talaria-run-id')).toBe(run_id);
    expect(one.headers.get('x-should-retry'), 'the same request is the same run').toBe('true');
    expect(one.headers.get('retry-after')).toBe('1');
    expect(two).toMatchObject({ status: 400, body: draining });
    expect(two.headers.get('x-should-retry'), 'the same request would be a second run').toBe('false');
    expect(JSON.parse(three.frames.at(-2)!.data)).toMatchObject(draining);
    expect(three.clean).toBe(true);

    const again = asking(world)(prompt);
    world.model.open('later');
    expect((await again).body.choices[0]!.message.content).toBe('later');
    for (const run of (await world.api.list()).data) await endsAs(world.api, run.run_id, 'run.completed');
    expect((await world.api.list()).data).toHaveLength(3);
  });
});

test('a client that comes back within the grace keeps its run', async () => {
  await server.server.restart({ TALARIA_INLINE_GRACE_SECONDS: '1' });
  const world = withKey('back');
  const prompt = script([{ gate: 'back', text: 'still here' }]);
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
  world.model.open('back');
  const { frames, headers } = await back;
  expect(frames.at(-1)!.data).toBe('[DONE]');
  expect(await world.api.run(headers.get('x-talaria-run-id')!)).toMatchObject({ status: 'completed' });
});
