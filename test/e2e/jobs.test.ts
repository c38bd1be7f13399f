/** Jobs on a real server: at their time, within its limits, through its shutdown, and with the client. */
import { BadRequestError, type Job, Talaria } from '@talaria/client';
import { afterEach, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { ServerWithModel, wholeStream } from './server-with-model.ts';

let world: ServerWithModel | undefined;
afterEach(async () => {
  await world?.[Symbol.asyncDispose]();
  world = undefined;
});

async function start(env: Record<string, string> = {}) {
  return use(await ServerWithModel.start(env));
}

async function startProcess(env: Record<string, string> = {}) {
  return use(await ServerWithModel.startProcess(env));
}

function use<World extends ServerWithModel>(started: World): { world: World; client: Talaria } {
  world = started;
  return { world: started, client: new Talaria({ baseUrl: started.server.url }) };
}

const soon = (ms = 500) => new Date(Date.now() + ms).toISOString();

/** A job that is due soon, or later if a busy machine took so long that its time was over. */
async function createSoon(client: Talaria, name: string, prompt: string, ms = 500): Promise<Job> {
  try {
    return await client.jobs.create({ name, prompt, schedule: soon(ms) });
  } catch (error) {
    if (!(error instanceof BadRequestError) || ms > 10_000) throw error;
    return createSoon(client, name, prompt, ms * 4);
  }
}

test('a job fires, and its run can be watched by last_run_id from its first event to its last', async () => {
  const { world, client } = await start();
  const prompt = script([{ text: 'the report', gate: 'report' }]);
  const { id } = await createSoon(client, 'report', prompt);
  const runId = await waitFor('the run', async () => (await client.jobs.get(id)).last_run_id ?? undefined);
  world.model.open('report');
  const frames = await wholeStream(world.api, runId);
  expect(frames.at(-1)?.event).toMatchObject({ event: 'run.completed', output: 'the report' });
  expect(await client.jobs.list({ include_disabled: true })).toEqual([]);
});

test('a job that is paused in time does not fire, and fires when it is resumed', async () => {
  const { client, world } = await start();
  const { id } = await client.jobs.create({
    name: 'late',
    schedule: soon(3_000),
    prompt: script([{ text: 'late' }]),
  });
  await client.jobs.pause(id);
  const other = await client.jobs.create({
    name: 'other',
    schedule: soon(3_200),
    prompt: script([{ text: 'x' }]),
  });
  await waitFor('the other, which is due later', async () =>
    (await client.jobs.list({ include_disabled: true })).every((job) => job.id !== other.id),
  );
  expect(await client.jobs.get(id)).toMatchObject({ state: 'paused', last_run_id: null });
  await client.jobs.resume(id);
  await waitFor('its run', async () => (await world.api.list()).data.length === 2);
});

test('a job that is due while the queue is full is not lost', async () => {
  const { client, world } = await startProcess({
    TALARIA_MAX_CONCURRENT_RUNS: '1',
    TALARIA_MAX_QUEUED_RUNS: '0',
  });
  const held = await world.api.create(script([{ text: 'x', gate: 'held' }]));
  await world.model.waitingAt('held');
  await createSoon(client, 'patient', script([{ text: 'at last' }]));
  await waitFor('it to be due', () => world.server.errors.includes('the queue is full'));
  expect((await world.api.list()).data.map(({ run_id }) => run_id)).toEqual([held]);
  world.model.open('held');
  const run = await waitFor('its run', async () => (await world.api.list()).data[0]?.output === 'at last');
  expect(run).toBe(true);
});

test('a run started by hand is refused like any other when the queue is full', async () => {
  const { client, world } = await start({ TALARIA_MAX_CONCURRENT_RUNS: '1', TALARIA_MAX_QUEUED_RUNS: '0' });
  const { id } = await client.jobs.create({ name: 'job', schedule: '1h', prompt: 'x' });
  await world.api.create(script([{ text: 'x', gate: 'held' }]));
  await world.model.waitingAt('held');
  const answer = await world.api.post<{ error: string }>(`/api/jobs/${id}/run`);
  expect(answer).toMatchObject({ status: 429, body: { error: expect.any(String) } });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await client.jobs.get(id)).toMatchObject({ last_run_id: null });
  world.model.open('held');
});

test('a key cannot have more jobs than allowed', async () => {
  const { world } = await start({ TALARIA_MAX_JOBS: '2' });
  const create = () =>
    world.api.post<{ job: Job; error: string }>('/api/jobs', { name: 'x', schedule: '1h' });
  const [first] = [await create(), await create()];
  expect(await create()).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('limit of jobs') },
  });
  await world.api.request('DELETE', `/api/jobs/${first!.body.job.id}`);
  expect((await create()).status).toBe(200);
});

test("a job without a zone uses the server's", async () => {
  const { client } = await start({ TALARIA_TIMEZONE: 'Asia/Tokyo' });
  const daily = { name: 'daily', schedule: '30 6 * * *' };
  expect(await client.jobs.create(daily)).toMatchObject({
    timezone: 'Asia/Tokyo',
    next_run_at: expect.stringMatching(/T21:30:00\.000Z$/),
  });
  expect((await client.jobs.create({ ...daily, timezone: 'UTC' })).next_run_at).toMatch(/T06:30:00\.000Z$/);
});

test('a stopping server keeps its jobs, and the next one continues them', async () => {
  const { client, world } = await start();
  const at = soon(3_000);
  await client.jobs.create({ name: 'later', schedule: at, prompt: script([{ text: 'later' }]) });
  await world.server.restart({}, () => waitFor('its time to pass', () => Date.now() > Date.parse(at)));
  await waitFor('its run', async () => (await world.api.list()).data[0]?.output === 'later');
});

test("the end of a job's run is sent to the server's webhook", async () => {
  await using receiver = await WebhookReceiver.start();
  const { client } = await start({
    TALARIA_WEBHOOK_URL: receiver.url,
    TALARIA_WEBHOOK_ALLOW_PRIVATE: 'true',
  });
  const { id } = await client.jobs.create({ name: 'job', schedule: '1h', prompt: script([{ text: 'x' }]) });
  const { last_run_id } = await client.jobs.run(id);
  const { message } = await waitFor('the message', () => receiver.received[0]);
  expect(message).toMatchObject({ type: 'run.completed', data: { run_id: last_run_id } });
});
