/** A client that loses its connection after any event comes back by cursor and misses nothing. */
import { isTerminalEvent, type RunEvent } from '@talaria/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { type Step, script } from '../support/model-server.ts';
import { ServerWithModel, terminal } from './server-with-model.ts';

let talaria: ServerWithModel;
beforeAll(async () => {
  talaria = await ServerWithModel.start();
});
afterAll(() => talaria[Symbol.asyncDispose]());

const PACE = { chunks: 4, delayMs: 30 };
const steps: Step[] = [
  {
    reasoning: 'Two at once.',
    text: 'I look around here.',
    ...PACE,
    tools: [terminal('echo a'), terminal('echo b')],
  },
  { text: 'I clean up now.', ...PACE, tools: [terminal('echo c'), terminal('rm -rf build')] },
  { gate: 'seen so far', reasoning: 'That was all.', text: 'It is clean now.', ...PACE },
];
const CALLS = 4;
const KINDS = [
  'approval.request',
  'approval.responded',
  'message.delta',
  'reasoning.available',
  'run.completed',
  'step.completed',
  'tool.completed',
  'tool.started',
];

test('a stream cut after every single event and resumed by cursor gives each event once, in order', async () => {
  const { api, model } = talaria;
  const runId = await api.create(script(steps));
  const whole = api.stream(runId);
  const statuses: string[] = [];
  let calls = 0;
  const live = await Promise.all([
    cutAfterEveryEvent(api, runId, async ({ event }) => {
      statuses.push((await api.run(runId)).status);
      if (event === 'approval.request') expect((await api.approve(runId, 'once')).status).toBe(200);
      if (event === 'tool.completed' && ++calls === CALLS) model.open('seen so far');
    }),
    cutAfterEveryEvent(api, runId),
    cutAfterEveryEvent(api, runId),
  ]);
  const events = (await whole).frames.map((frame) => frame.event);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
  expect([...new Set(events.map(({ event }) => event))].sort()).toEqual(KINDS);
  expect(events.filter(({ event }) => isTerminalEvent(event))).toHaveLength(1);
  for (const seen of live) expect(seen).toEqual(events);
  // It was cut while the run was running, not only read afterwards.
  expect(statuses.filter((status) => status !== 'completed').length).toBeGreaterThan(events.length / 2);

  expect(await cutAfterEveryEvent(api, runId)).toEqual(events);
});

test('after the end every cursor gives exactly what follows it, and a clean end', async () => {
  const { api } = talaria;
  const runId = await api.create(
    script([{ reasoning: 'Hm.', text: 'Here.', tools: [terminal('echo a')] }, { text: 'Done.' }]),
  );
  const { frames } = await api.stream(runId);
  expect(frames.length).toBeGreaterThan(4);
  for (const { event } of frames) {
    const rest = await api.stream(runId, { after: event.seq });
    expect(rest.frames).toEqual(frames.slice(event.seq + 1));
    expect(rest.clean).toBe(true);
    expect(rest.comments.at(-1)).toBe(event.seq === frames.length - 1 ? undefined : 'stream closed');
  }
});

test('an event from the time without a connection comes first, later ones come live', async () => {
  const { api, model } = talaria;
  const gates = ['one', 'two', 'three', 'four', 'five', 'six'];
  const chunks = gates.flatMap((gate) => [{ gate }, `${gate} `]);
  const runId = await api.create(script([{ chunks }]));
  const seen: RunEvent[] = [];
  for (const [index, gate] of gates.entries()) {
    await model.waitingAt(gate);
    if (index % 2 === 0) model.open(gate);
    const next = nextEvent(api, runId, seen.at(-1)?.seq);
    if (index % 2 === 1) model.open(gate);
    seen.push(await next);
    expect(seen.at(-1)).toMatchObject({ event: 'message.delta', delta: `${gate} `, seq: index });
  }
  expect((await nextEvent(api, runId, seen.at(-1)?.seq)).event).toBe('step.completed');
});

/** Reads the run with a new connection for each event. */
async function cutAfterEveryEvent(
  api: Api,
  runId: string,
  onEvent: (event: RunEvent) => Promise<void> = async () => {},
): Promise<RunEvent[]> {
  const seen: RunEvent[] = [];
  while (!isTerminalEvent(seen.at(-1)?.event ?? '')) {
    const event = await nextEvent(api, runId, seen.at(-1)?.seq);
    seen.push(event);
    await onEvent(event);
  }
  return seen;
}

/** Connects, reads one event and disconnects. */
async function nextEvent(api: Api, runId: string, after: number | undefined): Promise<RunEvent> {
  const { frames } = await api.stream(runId, {
    ...(after === undefined ? {} : { after }),
    until: () => true,
  });
  expect(frames).toHaveLength(1);
  expect(frames[0]!.id).toBe(String(frames[0]!.event.seq));
  return frames[0]!.event;
}
