/** Jobs on a real server: at their time, within its limits, through its shutdown, and with the client. */
import { BadRequestError, type Job, Talaria } from '@talaria/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { ServerWithModel, wholeStream } from './server-with-model.ts';

const MAX_JOBS = 2;
const KEYS = ['fires', 'pauses', 'limited', 'zoned', 'messages'] as const;
const keyOf = (name: (typeof KEYS)[number]) => `key-of-${name}-0123456789`;

let receiver: WebhookReceiver;
let world: ServerWithModel;
beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  world = await ServerWithModel.start({
    API_SERVER_KEYS: KEYS.map((name) => `${name}:${keyOf(name)}`).join(','),
    TALARIA_MAX_JOBS: String(MAX_JOBS),
    TALARIA_TIMEZONE: 'Asia/Tokyo',
    TALARIA_WEBHOOK_URL: receiver.url,
    TALARIA_WEBHOOK_ALLOW_PRIVATE: 'true',
  });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

/** With a key that no other test has. */
function withKey(name: (typeof KEYS)[number]): { client: Talaria; api: Api } {
  const apiKey = keyOf(name);
  return {
    client: new Talaria({ baseUrl: world.server.url, apiKey }),
    api: new Api(world.server.url, apiKey),
  };
}

const clientOf = ({ server }: ServerWithModel) => new Talaria({ baseUrl: server.url });

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

// Most of them wait for the time of a job.
describe.concurrent('a job', () => {
  test('fires, and its run can be watched by last_run_id from its first event to its last', async () => {
    const { api, client } = withKey('fires');
    const prompt = script([{ text: 'the report', gate: 'report' }]);
    const { id } = await createSoon(client, 'report', prompt);
    const runId = await waitFor('the run', async () => (await client.jobs.get(id)).last_run_id ?? undefined);
    world.model.open('report');
    const frames = await wholeStream(api, runId);
    expect(frames.at(-1)?.event).toMatchObject({ event: 'run.completed', output: 'the report' });
    expect(await client.jobs.list({ include_disabled: true })).toEqual([]);
  });

  test('that is paused in time does not fire, and fires when it is resumed', async () => {
    const { api, client } = withKey('pauses');
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
    await waitFor('its run', async () => (await api.list()).data.length === 2);
  });

  test('without a zone uses that of the server', async () => {
    const { client } = withKey('zoned');
    const daily = { name: 'daily', schedule: '30 6 * * *' };
    expect(await client.jobs.create(daily)).toMatchObject({
      timezone: 'Asia/Tokyo',
      next_run_at: expect.stringMatching(/T21:30:00\.000Z$/),
    });
    expect((await client.jobs.create({ ...daily, timezone: 'UTC' })).next_run_at).toMatch(/T06:30:00\.000Z$/);
  });

  test('is kept by a stopping server, and the next one continues it', async () => {
    await using world = await ServerWithModel.start();
    const at = soon(3_000);
    const prompt = script([{ text: 'later' }]);
    await clientOf(world).jobs.create({ name: 'later', schedule: at, prompt });
    await world.server.restart({}, () => waitFor('its time to pass', () => Date.now() > Date.parse(at)));
    await waitFor('its run', async () => (await world.api.list()).data[0]?.output === 'later');
  });

  test('has a run whose end is sent to the webhook of the server', async () => {
    const { client } = withKey('messages');
    const { id } = await client.jobs.create({ name: 'job', schedule: '1h', prompt: script([{ text: 'x' }]) });
    const { last_run_id } = await client.jobs.run(id);
    const { message } = await waitFor('the message', () =>
      receiver.received.find(({ message: { data } }) => data.run_id === last_run_id),
    );
    expect(message).toMatchObject({ type: 'run.completed', data: { run_id: last_run_id } });
  });
});

test('a key cannot have more jobs than allowed', async () => {
  const { api } = withKey('limited');
  const create = () => api.post<{ job: Job; error: string }>('/api/jobs', { name: 'x', schedule: '1h' });
  const created = [];
  for (let n = 0; n < MAX_JOBS; n += 1) created.push(await create());
  expect(await create()).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('limit of jobs') },
  });
  await api.request('DELETE', `/api/jobs/${created[0]!.body.job.id}`);
  expect((await create()).status).toBe(200);
});

describe('when the queue is full', () => {
  const FULL = { TALARIA_MAX_CONCURRENT_RUNS: '1', TALARIA_MAX_QUEUED_RUNS: '0' };

  // The scheduler's own test shows the same; here it takes as long as the pause before its next attempt.
  test('a job that is due is not lost', { tags: ['soak'] }, async () => {
    await using world = await ServerWithModel.startProcess(FULL);
    const held = await world.api.create(script([{ text: 'x', gate: 'held' }]));
    await world.model.waitingAt('held');
    await createSoon(clientOf(world), 'patient', script([{ text: 'at last' }]));
    await waitFor('it to be due', () => world.server.errors.includes('the queue is full'));
    expect((await world.api.list()).data.map(({ run_id }) => run_id)).toEqual([held]);
    world.model.open('held');
    const run = await waitFor('its run', async () => (await world.api.list()).data[0]?.output === 'at last');
    expect(run).toBe(true);
  });

  test('a run started by hand is refused like any other', async () => {
    await using world = await ServerWithModel.start(FULL);
    const client = clientOf(world);
    const { id } = await client.jobs.create({ name: 'job', schedule: '1h', prompt: 'x' });
    await world.api.create(script([{ text: 'x', gate: 'held' }]));
    await world.model.waitingAt('held');
    const answer = await world.api.post<{ error: string }>(`/api/jobs/${id}/run`);
    expect(answer).toMatchObject({ status: 429, body: { error: expect.any(String) } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await client.jobs.get(id)).toMatchObject({ last_run_id: null });
    world.model.open('held');
  });
});
