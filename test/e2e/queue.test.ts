/** Load is bounded and refused politely, and never delays cheap requests; a session has one turn at a time. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { processorWaits } from '../support/processor-waits.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ServerWithModel, waitForStatus } from './server-with-model.ts';

const QUICK_MS = 1_000;

let world: ServerWithModel;
let api: Api;

async function quick<T>(work: Promise<T>): Promise<T> {
  const since = performance.now();
  const waits = processorWaits();
  const result = await work;
  expect(performance.now() - since - waits()).toBeLessThan(QUICK_MS);
  return result;
}

describe('two at a time, three may wait', () => {
  const CONCURRENT = 2;
  const QUEUED = 3;

  beforeAll(async () => {
    world = await ServerWithModel.start({
      TALARIA_MAX_CONCURRENT_RUNS: String(CONCURRENT),
      TALARIA_MAX_QUEUED_RUNS: String(QUEUED),
    });
    api = world.api;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const isOpen = ({ ended, aborted }: { ended: boolean; aborted: boolean }) => !ended && !aborted;

  /** Fills the server with runs that wait at the gate. */
  async function fill(gate: string, headers: Record<string, string> = {}) {
    const running: string[] = [];
    for (let n = 0; n < CONCURRENT; n++) {
      running.push(await api.create(script([{ gate, text: `running ${n}` }]), {}, n === 0 ? headers : {}));
    }
    await waitFor('them to run', async () => (await api.list('?status=running')).data.length === CONCURRENT);
    const waiting: string[] = [];
    for (let n = 0; n < QUEUED; n++) waiting.push(await api.create(script([{ gate, text: `waited ${n}` }])));
    return { running, waiting, all: [...running, ...waiting] };
  }

  test('never works on more than the limit, and all get their turn in order', async () => {
    const runs: string[] = [];
    let most = 0;
    for (let n = 0; n < CONCURRENT + QUEUED; n++) {
      runs.push(await api.create(script([{ gate: `turn-${n}`, text: `turn ${n}` }])));
    }
    for (let n = 0; n < runs.length; n++) {
      await world.model.waitingAt(`turn-${n}`);
      most = Math.max(most, world.model.requests.filter(isOpen).length);
      expect(
        (await api.get<{ active_agents: number }>('/health/detailed')).body.active_agents,
      ).toBeLessThanOrEqual(CONCURRENT);
      world.model.open(`turn-${n}`);
      expect((await endsAs(api, runs[n]!, 'run.completed')).output).toBe(`turn ${n}`);
    }
    expect(most).toBe(CONCURRENT);
  });

  test('a waiting run says its place and what it waits for, and a run at work says nothing', async () => {
    const { running, waiting, all } = await fill('place');
    const queueOf = async (runId: string) => (await api.run(runId)).queue;
    for (const runId of running) expect(await queueOf(runId)).toBeUndefined();
    for (const [index, runId] of waiting.entries())
      expect(await queueOf(runId)).toEqual({ position: index + 1, waiting_for: 'worker' });
    await api.stop(waiting[0]!);
    expect(await queueOf(waiting[0]!)).toBeUndefined();
    expect(await queueOf(waiting[1]!)).toEqual({ position: 1, waiting_for: 'worker' });
    world.model.open('place');
    for (const runId of all) await api.finish(runId);
    for (const runId of all) expect(await queueOf(runId)).toBeUndefined();
  });

  test('a burst into an idle server is accepted up to the limits, the rest is refused', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        api.post<{ run_id: string }>('/v1/runs', { input: script([{ gate: 'burst', text: 'done' }]) }),
      ),
    );
    const taken = answers.filter(({ status }) => status === 202).map(({ body }) => body.run_id);
    const refused = answers.filter(({ status }) => status === 429);
    expect(taken.length + refused.length).toBe(20);
    expect(taken.length).toBeGreaterThanOrEqual(CONCURRENT + QUEUED);
    // As many more as were on their way from the queue to a worker.
    expect(taken.length).toBeLessThanOrEqual(CONCURRENT + QUEUED + CONCURRENT);
    world.model.open('burst');
    for (const runId of taken) await endsAs(api, runId, 'run.completed');
  });

  test('beyond the queue a create is refused with a Retry-After and leaves nothing behind', async () => {
    const { all } = await fill('refusal');
    const before = await api.list('?limit=200');
    const key = { 'idempotency-key': 'refused-1' };
    const input = script([{ text: 'second time lucky' }]);
    const refused = await quick(api.post('/v1/runs', { input }, key));
    expect(refused).toMatchObject({
      status: 429,
      body: { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await api.list('?limit=200')).toEqual(before);

    world.model.open('refusal');
    for (const runId of all) await endsAs(api, runId, 'run.completed');
    // The refusal did not use up the key: the retry is a first attempt.
    const retried = await api.post<{ run_id: string; replayed: boolean }>('/v1/runs', { input }, key);
    expect(retried).toMatchObject({ status: 202, body: { replayed: false } });
    expect((await endsAs(api, retried.body.run_id, 'run.completed')).output).toBe('second time lucky');
  });

  test('while full, everything that starts no work stays quick', async () => {
    const { running, waiting } = await fill('full');
    for (const runId of [running[0]!, waiting[0]!]) await quick(api.run(runId));
    expect((await quick(api.get('/health'))).status).toBe(200);
    expect((await quick(api.get('/health/detailed'))).body).toMatchObject({
      active_agents: CONCURRENT,
      queue: { queued: QUEUED, leased: CONCURRENT },
    });
    expect((await quick(api.list())).data.length).toBeGreaterThanOrEqual(CONCURRENT + QUEUED);

    const stopped = waiting[1]!;
    expect((await quick(api.stop(stopped))).status).toBe(200);
    await quick(endsAs(api, stopped, 'run.cancelled'));
    // Its place is free again.
    waiting[1] = await api.create(script([{ text: 'late comer' }]));

    world.model.open('full');
    for (const runId of [...running, ...waiting]) await endsAs(api, runId, 'run.completed');
  });

  test('a retried create gets its run also at the limit', async () => {
    const input = script([{ gate: 'replay', text: 'once' }]);
    const key = { 'idempotency-key': 'at-the-limit' };
    const first = await api.post<{ run_id: string }>('/v1/runs', { input }, key);
    const others: string[] = [];
    for (let n = 0; n < CONCURRENT + QUEUED - 1; n++) {
      others.push(await api.create(script([{ gate: 'replay', text: 'other' }])));
      if (n === 0)
        await waitFor('two to run', async () => (await api.list('?status=running')).data.length === 2);
    }
    expect((await api.post('/v1/runs', { input: 'no room' })).status).toBe(429);
    const replayed = await api.post('/v1/runs', { input }, key);
    expect(replayed).toMatchObject({
      status: 202,
      body: { run_id: first.body.run_id, status: 'running', replayed: true },
    });
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect((await api.post('/v1/runs', { input: 'another' }, key)).status).toBe(409);
    world.model.open('replay');
    for (const runId of [first.body.run_id, ...others]) await endsAs(api, runId, 'run.completed');
    expect(world.model.requests.filter(({ scriptId }) => input.includes(`id=${scriptId} `))).toHaveLength(1);
  });
});

describe('two keys', () => {
  test('one key can neither lock the other out of the queue nor make it wait for its backlog', async () => {
    await using shared = await ServerWithModel.start({
      API_SERVER_KEYS: 'busy:sk-busy-0123456789,calm:sk-calm-0123456789',
      TALARIA_MAX_CONCURRENT_RUNS: '1',
      TALARIA_MAX_QUEUED_RUNS: '4',
    });
    const busy = new Api(shared.server.url, 'sk-busy-0123456789');
    const calm = new Api(shared.server.url, 'sk-calm-0123456789');
    const first = await busy.create(script([{ gate: 'first', text: 'first' }]));
    await shared.model.waitingAt('first');
    const backlog: string[] = [];
    for (let n = 0; n < 4; n++) backlog.push(await busy.create(script([{ gate: 'rest', text: `${n}` }])));
    expect((await busy.post('/v1/runs', { input: 'one too many' })).status).toBe(429);

    const late = [
      await calm.create(script([{ text: 'late' }])),
      await calm.create(script([{ text: 'later' }])),
    ];
    expect((await calm.post('/v1/runs', { input: 'over its share' })).status).toBe(429);

    shared.model.open('first');
    await endsAs(busy, first, 'run.completed');
    await endsAs(calm, late[0]!, 'run.completed');
    // Now it is the other's turn, and its run is held at the gate.
    await shared.model.waitingAt('rest');
    expect((await calm.run(late[1]!)).status).toBe('started');
    shared.model.open('rest');
    await endsAs(calm, late[1]!, 'run.completed');
    for (const runId of backlog) await endsAs(busy, runId, 'run.completed');
  });
});

describe('with no queue at all', () => {
  test('a run is accepted while a worker is free, and refused while none is', async () => {
    await using small = await ServerWithModel.start({
      TALARIA_MAX_CONCURRENT_RUNS: '1',
      TALARIA_MAX_QUEUED_RUNS: '0',
    });
    const runId = await small.api.create(script([{ gate: 'only', text: 'the only one' }]));
    await small.model.waitingAt('only');
    expect((await small.api.post('/v1/runs', { input: 'no room' })).status).toBe(429);
    small.model.open('only');
    await endsAs(small.api, runId, 'run.completed');
    await waitFor('the worker to be free', async () => {
      const { body } = await small.api.get<{ active_agents: number }>('/health/detailed');
      return body.active_agents === 0;
    });
    await endsAs(small.api, await small.api.create('hello'), 'run.completed');
  });
});

describe('sessions', () => {
  beforeAll(async () => {
    world = await ServerWithModel.start();
    api = world.api;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('the second turn waits for the first and knows what it said; other sessions run meanwhile', async () => {
    const session = { session_id: 'one-turn-at-a-time' };
    const first = await api.create(script([{ gate: 'turn', text: 'the first answer' }]), session);
    const prompt = script([{ text: 'the second answer' }]);
    const second = await api.create(prompt, session);
    await world.model.waitingAt('turn');

    const elsewhere = await api.create(script([{ text: 'elsewhere' }]), { session_id: 'elsewhere' });
    await endsAs(api, elsewhere, 'run.completed');
    expect((await api.run(second)).status).toBe('started');
    const asked = () => world.model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `));
    expect(asked()).toHaveLength(0);

    world.model.open('turn');
    await endsAs(api, first, 'run.completed');
    expect((await endsAs(api, second, 'run.completed')).output).toBe('the second answer');
    const said = JSON.stringify(asked()[0]!.body.messages);
    expect(said).toContain('the first answer');
  });

  test('a failed turn does not block the session', async () => {
    const session = { session_id: 'after-a-failure' };
    const first = await api.create(script([{ error: { status: 401, message: 'no' } }]), session);
    const second = await api.create(script([{ text: 'going on' }]), session);
    await waitForStatus(api, first, 'failed');
    expect((await endsAs(api, second, 'run.completed')).output).toBe('going on');
  });

  test('many sessions keep their own order', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 5 }, async (_, s) => {
        const runs: string[] = [];
        for (let n = 0; n < 4; n++) {
          runs.push(await api.create(script([{ text: `${s}.${n}` }]), { session_id: `order-${s}` }));
        }
        return runs;
      }),
    );
    for (const runs of sessions) {
      const ends: number[] = [];
      for (const runId of runs) {
        await endsAs(api, runId, 'run.completed');
        const { frames } = await api.stream(runId);
        ends.push(frames[0]!.event.timestamp, frames.at(-1)!.event.timestamp);
      }
      expect(ends).toEqual([...ends].sort((a, b) => a - b));
    }
  });
});
