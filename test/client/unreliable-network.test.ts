/**
 * The client and the real server over a network that breaks, delays and damages: nothing is lost, nothing comes twice.
 */
import { type RunEvent, Talaria } from '@talaria/client';
import { isTerminalEvent } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerWithModel, terminal } from '../e2e/server-with-model.ts';
import { type Step, script } from '../support/model-server.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start();
});
afterAll(() => world[Symbol.asyncDispose]());

const PACE = { chunks: 25, delayMs: 15 };
const STEPS: Step[] = [
  {
    reasoning: 'First look.',
    text: 'I look around, slowly and thoroughly. '.repeat(3),
    ...PACE,
    tools: [terminal('echo a')],
  },
  { text: 'I clean up now, with care, ä ö ü 🪽. '.repeat(3), ...PACE, tools: [terminal('rm -rf build')] },
  { text: 'It is all clean now, as it was asked for. '.repeat(3), ...PACE },
];

/** The same run, read without anything in between. */
async function truth(runId: string): Promise<RunEvent[]> {
  return (await world.api.stream(runId)).frames.map(({ event }) => event);
}

describe.each([
  { seed: 1, tags: [] },
  { seed: 2, tags: ['soak'] },
  { seed: 3, tags: ['soak'] },
])('with seed $seed', ({ seed, tags }) => {
  test('every event comes once and in order, and the run is driven to its end', { tags }, async () => {
    const faults = { refuse: 0.1, cut: 0.12, damage: 0.08, delay: 0.2 };
    await using proxy = await UnreliableProxy.start(() => world.server.url, seed, faults);
    const client = new Talaria({ baseUrl: proxy.url, maxRetries: 10 });
    const session_id = `seed-${seed}`;
    const events: RunEvent[] = [];
    const asked: string[] = [];
    const run = await client.runs.run(
      { input: script(STEPS), session_id },
      {
        onEvent: (event) => events.push(event),
        onApproval: async ({ command }) => {
          asked.push(command);
          return 'once';
        },
      },
    );

    const text = STEPS[2]!.text!;
    expect(run).toMatchObject({ status: 'completed', output: text });
    expect(asked).toEqual(['rm -rf build']);
    expect(events).toEqual(await truth(run.run_id));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(events.filter(({ event }) => isTerminalEvent(event))).toHaveLength(1);
    expect((await world.api.list(`?session_id=${session_id}`)).data).toHaveLength(1);
    expect(proxy.happened.cut + proxy.happened.damage).toBeGreaterThan(0);
  });
});

test('several readers of one run, each over its own network, see the same', async () => {
  const runId = await world.api.create(script([{ text: 'one two three four five six '.repeat(8), ...PACE }]));
  const seen = await Promise.all(
    [11, 12, 13, 14].map(async (seed) => {
      await using proxy = await UnreliableProxy.start(() => world.server.url, seed, {
        cut: 0.2,
        damage: 0.1,
      });
      const events: RunEvent[] = [];
      for await (const event of new Talaria({ baseUrl: proxy.url, maxRetries: 10 }).runs.streamEvents(
        runId,
      )) {
        events.push(event);
      }
      return events;
    }),
  );
  const events = await truth(runId);
  for (const each of seen) expect(each).toEqual(events);
});

test('a create whose answer is lost is retried and starts one run', async () => {
  await using proxy = await UnreliableProxy.start(() => world.server.url, 5, { cut: 1 });
  const client = new Talaria({ baseUrl: proxy.url });
  const session_id = 'answer-lost';
  const creating = client.runs.create({ input: 'hello', session_id });
  await waitFor('answers to be lost', () => proxy.happened.cut >= 1);
  proxy.faults = {};
  const { run_id, replayed } = await creating;
  const { data } = await world.api.list(`?session_id=${session_id}`);
  expect(data.map((run) => run.run_id)).toEqual([run_id]);
  expect(replayed).toBe(true);
});

test('a file is downloaded completely although its connection is lost again and again', async () => {
  const command = 'head -c 3000000 /dev/urandom > big.bin && sha256sum big.bin';
  const runId = await world.api.create(script([{ tools: [terminal(command)] }, { text: 'done' }]));
  const frames = (await world.api.stream(runId)).frames.map(({ event }) => event);
  const preview = frames.find((event) => event.event === 'tool.completed')!.preview;
  await using proxy = await UnreliableProxy.start(() => world.server.url, 6, { cut: 0.08 });
  const client = new Talaria({ baseUrl: proxy.url, maxRetries: 10 });
  const response = await client.runs.artifacts.read(runId, 'big.bin');
  const bytes = await response.arrayBuffer();
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');
  expect(preview).toContain(digest);
  expect(response.headers.get('etag')).toBe(`"${digest}"`);
  expect(proxy.happened.cut).toBeGreaterThan(0);
});
