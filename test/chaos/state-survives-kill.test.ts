/** State before `kill -9` is the same after a restart. */
import { isTerminalEvent, type Run, type RunCreated, type RunEvent } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api, type Frame } from '../support/api.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer, type Moment } from './killable-server.ts';
import { marksOf, ofKind, settled } from './marked-run.ts';

const SLOW = { timeout: 180_000 };
const KEYS = { ada: 'key-of-ada-0123456789', bob: 'key-of-bob-0123456789', eve: 'key-of-eve-0123456789' };
const GATED = 'rm -rf build; echo mark >> marks';

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

describe('after a kill', () => {
  let server: KillableServer;
  const before = {} as {
    pending: Run;
    finished: { run: Run; frames: Frame[] };
    keyed: { body: unknown; runId: string };
    steered: string;
  };
  const apiOf = (owner: keyof typeof KEYS) => new Api(server.process.url, KEYS[owner]);

  beforeAll(async () => {
    server = new KillableServer({
      modelUrl: model.url,
      env: {
        API_SERVER_KEYS: Object.entries(KEYS)
          .map((pair) => pair.join(':'))
          .join(','),
      },
    });
    await server.start();
    const [ada, bob, eve] = [apiOf('ada'), apiOf('bob'), apiOf('eve')];

    const granting = async (api: Api, choice: string, fields: Record<string, unknown> = {}) => {
      const runId = await api.create(gatedRun(), fields);
      await waitingForApproval(api, runId);
      expect((await api.approve(runId, choice)).status).toBe(200);
      expect((await api.finish(runId)).event).toBe('run.completed');
    };
    await granting(ada, 'always');
    await granting(bob, 'session', { session_id: 'garden' });

    const finished = await eve.create(
      script([{ reasoning: 'Hm.', text: 'Yes.', tools: [terminal('echo hi')] }, { text: 'So.' }]),
    );
    await eve.finish(finished);
    before.finished = { run: await eve.run(finished), frames: (await eve.stream(finished)).frames };

    const body = { input: 'hello', session_id: 'keyed' };
    const created = await eve.post<RunCreated>('/v1/runs', body, { 'idempotency-key': 'the-key' });
    before.keyed = { body, runId: created.body.run_id };

    before.steered = await eve.create(gatedRun());
    await waitingForApproval(eve, before.steered);
    expect(
      (await eve.post(`/v1/runs/${before.steered}/steer`, { input: 'And mind the roses.' })).status,
    ).toBe(200);

    before.pending = await waitingForApproval(eve, await eve.create(gatedRun()));
    await server.killAndStart();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('a finished run is polled and replayed as it was', async () => {
    const { run, frames } = before.finished;
    expect(run.status).toBe('completed');
    expect(await apiOf('eve').run(run.run_id)).toEqual(run);
    const replay = await apiOf('eve').stream(run.run_id);
    expect(replay.frames).toEqual(frames);
    expect(replay.clean).toBe(true);
  });

  test('a pending approval is the same question, found by poll, list and stream, and answered once', async () => {
    const eve = apiOf('eve');
    const { run_id: runId, approval } = before.pending;
    expect((await eve.run(runId)).approval).toEqual(approval);
    const waiting = await eve.list('?status=waiting_for_approval');
    expect(waiting.data.find((run) => run.run_id === runId)?.approval).toEqual(approval);

    const stale = await eve.approve<{ error: { code: string } }>(runId, 'once', {
      request_id: 'apr_unknown',
    });
    expect([stale.status, stale.body.error.code]).toEqual([409, 'approval_not_pending']);
    expect((await eve.run(runId)).status).toBe('waiting_for_approval');

    const answer = () => eve.approve(runId, 'once', { request_id: approval?.request_id });
    const answers = await Promise.all([answer(), answer(), answer()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect((await eve.finish(runId)).event).toBe('run.completed');
    const events = await eventsOf(eve, runId);
    expect(ofKind(events, 'approval.request').map((event) => event.request_id)).toEqual([
      approval?.request_id,
    ]);
    expect(ofKind(events, 'approval.responded')).toHaveLength(1);
    expect(marksOf(server, runId)).toEqual(['mark']);
    expect((await answer()).status).toBe(409);
  });

  test('an idempotency key still names its run, also for many requests at once, and refuses another body', async () => {
    const eve = apiOf('eve');
    const { body, runId } = before.keyed;
    const post = (what: unknown) => eve.post<RunCreated>('/v1/runs', what, { 'idempotency-key': 'the-key' });
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(body)));
    for (const answer of answers) {
      expect(answer.status).toBe(202);
      expect(answer.body).toMatchObject({ run_id: runId, replayed: true });
    }
    expect((await post({ ...(body as object), input: 'something else' })).status).toBe(409);
    expect((await eve.list('?session_id=keyed')).data).toHaveLength(1);
    expect((await eve.finish(runId)).event).toBe('run.completed');
  });

  test('a permanently granted pattern is not asked for again', async () => {
    const runId = await apiOf('ada').create(gatedRun());
    expect((await apiOf('ada').finish(runId)).event).toBe('run.completed');
    expect(ofKind(await eventsOf(apiOf('ada'), runId), 'approval.request')).toEqual([]);
    expect(marksOf(server, runId)).toEqual(['mark']);
  });

  test('a pattern that was granted to a session is asked for only in other sessions', async () => {
    const bob = apiOf('bob');
    const same = await bob.create(gatedRun(), { session_id: 'garden' });
    expect((await bob.finish(same)).event).toBe('run.completed');
    expect(ofKind(await eventsOf(bob, same), 'approval.request')).toEqual([]);
    const other = await bob.create(gatedRun(), { session_id: 'kitchen' });
    await waitingForApproval(bob, other);
    await bob.stop(other);
  });

  test("another key's grant grants nothing", async () => {
    const runId = await apiOf('eve').create(gatedRun(), { session_id: 'garden' });
    await waitingForApproval(apiOf('eve'), runId);
    await apiOf('eve').stop(runId);
  });

  test('an accepted but undelivered steer reaches the model, once', async () => {
    const eve = apiOf('eve');
    const runId = before.steered;
    await eve.approve(runId, 'once');
    expect((await eve.finish(runId)).event).toBe('run.completed');
    const steered = ofKind(await eventsOf(eve, runId), 'run.steered');
    expect(steered.map((event) => event.input)).toEqual(['And mind the roses.']);
    const heard = model.requests.filter(({ body }) =>
      body.messages.some((message) => message.role === 'user' && message.content === 'And mind the roses.'),
    );
    expect(heard).toHaveLength(1);
  });
});

// many-unfinished-runs.test.ts shows it in short, with the runs of sessions.
test('a queued run keeps its place and starts when there is room', { ...SLOW, tags: ['soak'] }, async () => {
  await using server = new KillableServer({
    modelUrl: model.url,
    env: { TALARIA_MAX_CONCURRENT_RUNS: '1' },
  });
  await server.start();
  const first = await server.create(script([{ gate: 'queue', text: 'First.' }]));
  await model.waitingAt('queue');
  const second = await server.create(script([{ text: 'Second.' }]));
  expect((await server.api.run(second)).status).toBe('started');
  const asked = model.requests.length;
  await server.killAndStart();
  await model.waitForRequest((request) => model.requests.indexOf(request) >= asked);
  expect((await server.api.run(second)).status).toBe('started');
  model.open('queue');
  const ends = await Promise.all([first, second].map((runId) => server.api.finish(runId)));
  expect(ends).toMatchObject([{ output: 'First.' }, { output: 'Second.' }]);
  const [begun] = await eventsOf(server.api, second);
  expect(begun?.timestamp).toBeGreaterThanOrEqual(ends[0]!.timestamp);
});

interface StopCase {
  when: string;
  input: string;
  /** Whether the run is where the stop should find it. */
  atWork(server: KillableServer, runId: string): Promise<boolean>;
  marks: string[];
}

const DURING_A_TOOL: StopCase = {
  when: 'while a tool runs',
  input: script([{ text: 'I wait.', tools: [terminal('echo mark >> marks; sleep 60')] }]),
  atWork: async (server, runId) => marksOf(server, runId).length > 0,
  marks: ['mark'],
};
const silent = script([{ hang: 'before' }]);
const STOPS: StopCase[] = [
  {
    when: 'while the model is silent',
    input: silent,
    atWork: async () =>
      model.requests.some(({ scriptId }) => scriptId !== undefined && silent.includes(scriptId)),
    marks: [],
  },
  DURING_A_TOOL,
  {
    // Without the background process nobody would work on the run, and the stop would end it at once.
    when: 'while an approval is pending',
    input: script([
      { tools: [{ name: 'terminal', arguments: { command: 'sleep 600', background: true } }] },
      { tools: [terminal(GATED)] },
    ]),
    atWork: async (server, runId) => (await server.api.run(runId)).status === 'waiting_for_approval',
    marks: [],
  },
];

describe.concurrent('a stop that was accepted before the kill', () => {
  for (const { when, ...stop } of STOPS) {
    test(`${when} cancels the run after it`, { ...SLOW, tags: ['soak'] }, async () => {
      await using server = new KillableServer({ modelUrl: model.url });
      await cancels(server, stop);
    });
  }
});

/** The server that continues dies at `next`. */
async function cancels(
  server: KillableServer,
  { input, atWork, marks }: Omit<StopCase, 'when'>,
  next?: Moment,
): Promise<void> {
  await server.start('run.before-terminal');
  const runId = await server.create(input);
  await waitFor('the run to be at work', () => atWork(server, runId));
  // The server dies of it at once: the answer may be lost, the stop is not.
  await server.api.stop(runId).catch(() => {});
  await server.diesByItself('run.before-terminal');
  await server.start(next);
  expect((await server.api.finish(runId)).event).toBe('run.cancelled');
  expect((await server.api.run(runId)).status).toBe('cancelled');
  const events = await eventsOf(server.api, runId);
  expect(events.filter(({ event }) => isTerminalEvent(event))).toHaveLength(1);
  expect(ofKind(events, 'run.resumed')).toEqual([]);
  expect((await server.api.stop(runId)).status).toBe(404);
  expect(marksOf(server, runId)).toEqual(marks);
}

describe.concurrent('after a kill at a certain point', () => {
  test('a steer accepted during what would have been the last step is delivered', {
    ...SLOW,
    tags: ['soak'],
  }, async () => {
    await using server = new KillableServer({ modelUrl: model.url });
    await server.start('step.after-append');
    const gate = 'last-step';
    const runId = await server.create(
      script([{ chunks: ['So ', { gate }, 'far.'] }, { text: 'And further.' }]),
    );
    await model.waitingAt(gate);
    expect((await server.api.post(`/v1/runs/${runId}/steer`, { input: 'Go on.' })).status).toBe(200);
    model.open(gate);
    await server.diesByItself('step.after-append');
    await server.start();
    expect(await server.api.finish(runId)).toMatchObject({ event: 'run.completed', output: 'And further.' });
    const events = await eventsOf(server.api, runId);
    expect(ofKind(events, 'run.steered').map((event) => event.input)).toEqual(['Go on.']);
    expect(settled(events).text).toBe('So far.And further.');
  });

  test(
    'a stop is not forgotten, and an approval that expired while the server was down is denied, and says why',
    SLOW,
    async () => {
      const env = { TALARIA_APPROVAL_TIMEOUT_SECONDS: '1' };
      await using server = new KillableServer({ modelUrl: model.url, env });
      await cancels(server, DURING_A_TOOL, 'approval.after-request');
      const runId = await server.create(gatedRun());
      await server.diesByItself('approval.after-request');
      const diedAt = Date.now();
      await waitFor('the time to run out', () => Date.now() > diedAt + 1_000);
      await server.start();
      expect((await server.api.finish(runId)).event).toBe('run.completed');
      const events = await eventsOf(server.api, runId);
      expect(ofKind(events, 'approval.request')).toHaveLength(1);
      expect(ofKind(events, 'approval.responded')).toMatchObject([{ choice: 'deny', reason: 'timeout' }]);
      expect(marksOf(server, runId)).toEqual([]);
    },
  );
});

test('a pending approval waits through more kills than the recovery limit', {
  ...SLOW,
  tags: ['soak'],
}, async () => {
  await using server = new KillableServer({ modelUrl: model.url });
  await server.start();
  const runId = await server.create(gatedRun());
  const seen: RunEvent[] = [];
  const followed = server.follow(runId, (event) => seen.push(event));
  const { approval } = await waitingForApproval(server.api, runId);
  await waitFor('its worker to let go', async () => {
    const { body } = await server.api.get<{ queue: { waiting: number } }>('/health/detailed');
    return body.queue.waiting === 1;
  });
  for (let kill = 1; kill <= 6; kill += 1) {
    await server.killAndStart();
    expect((await server.api.run(runId)).approval).toEqual(approval);
  }
  // Nobody works on it, so nothing was interrupted.
  expect(ofKind(seen, 'run.resumed')).toEqual([]);
  await server.approve(runId, approval!.request_id);
  expect((await followed).at(-1)?.event).toBe('run.completed');
  expect(marksOf(server, runId)).toEqual(['mark']);
});

function terminal(command: string) {
  return { name: 'terminal', arguments: { command } };
}

function gatedRun(): string {
  return script([{ text: 'I clean up.', tools: [terminal(GATED)] }, { text: 'Clean.' }]);
}

function waitingForApproval(api: Api, runId: string): Promise<Run> {
  return waitFor('a pending approval', async () => {
    const run = await api.run(runId);
    return run.status === 'waiting_for_approval' && run;
  });
}

/** For a run that has ended. */
async function eventsOf(api: Api, runId: string): Promise<RunEvent[]> {
  return (await api.stream(runId)).frames.map(({ event }) => event);
}
