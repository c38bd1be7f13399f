/** A job that is due when the server dies fires once: not never, and not twice. */
import type { Job } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer, type Moment } from './killable-server.ts';

const SLOW = { timeout: 180_000 };

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

async function createJob(server: KillableServer, fields: object): Promise<Job> {
  const { status, body } = await server.api.post<{ job: Job }>('/api/jobs', { name: 'job', ...fields });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.job;
}

/** Late enough that the job is created before, even on a busy machine. */
const soon = () => new Date(Date.now() + 3_000).toISOString();
const jobsOf = async (server: KillableServer) =>
  (await server.api.get<{ jobs: Job[] }>('/api/jobs?include_disabled=true')).body.jobs;

/** The only run, when it has ended as it should; a job that runs once is deleted with it. */
async function expectOneRun(server: KillableServer): Promise<void> {
  const runId = await waitFor('the run', async () => (await server.api.list()).data[0]?.run_id);
  expect(await server.api.finish(runId)).toMatchObject({ event: 'run.completed', output: 'Once.' });
  expect(await jobsOf(server)).toEqual([]);
  expect((await server.api.list()).data).toHaveLength(1);
}

test.each<[Moment, number]>([
  ['job.before-fire', 0],
  ['run.after-create', 1],
])(
  'a job that is due and whose server is killed at %s fires once',
  { ...SLOW, tags: ['soak'] },
  async (moment, left) => {
    await using server = new KillableServer({ modelUrl: model.url });
    await server.start(moment);
    await createJob(server, { schedule: soon(), prompt: script([{ text: 'Once.' }]) });
    await server.diesByItself(moment);
    // The next server handles what the dead one left before it reads the jobs; both ways end with one run.
    await server.start();
    const found = (await server.api.list()).data.length;
    expect(found).toBeGreaterThanOrEqual(left);
    await expectOneRun(server);
  },
);

describe('after a kill of a server that was about to fire a job', () => {
  let server: KillableServer;
  /** The server dies of it. */
  let fatal: Job;
  /** Its time passes while the server is down. */
  let due: Job;
  /** Its run is interrupted. */
  let running: Job;

  beforeAll(async () => {
    server = new KillableServer({ modelUrl: model.url });
    await server.start('job.before-fire');
    const prompt = script([{ text: 'Once.', gate: 'the-only-answer' }]);
    const { id } = await createJob(server, { schedule: 'every 1h', prompt });
    running = (await server.api.post<{ job: Job }>(`/api/jobs/${id}/run`)).body.job;
    await model.waitingAt('the-only-answer');
    const at = Date.parse(soon());
    const once = (time: number) => ({
      schedule: new Date(time).toISOString(),
      prompt: script([{ text: 'Once.' }]),
    });
    fatal = await createJob(server, once(at));
    due = await createJob(server, once(at + 500));
    await server.diesByItself('job.before-fire');
    await waitFor('its time to pass', () => Date.now() > at + 500);
    await server.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('this job fires once, and so does one whose time passed while the server was down', SLOW, async () => {
    for (const { id } of [fatal, due]) {
      const runsOf = async () => (await server.api.list(`?job_id=${id}`)).data;
      const runId = await waitFor('the run', async () => (await runsOf())[0]?.run_id);
      expect(await server.api.finish(runId)).toMatchObject({ event: 'run.completed', output: 'Once.' });
      expect(await runsOf()).toHaveLength(1);
    }
    expect((await jobsOf(server)).map(({ id }) => id)).toEqual([running.id]);
  });

  test('a job whose run was interrupted does not fire again; the run continues', SLOW, async () => {
    const { id, last_run_id } = running;
    const found = async () => (await jobsOf(server)).filter((job) => job.id === id);
    expect(await found()).toMatchObject([{ last_run_id, last_status: null }]);
    model.open('the-only-answer');
    expect(await server.api.finish(last_run_id!)).toMatchObject({ output: 'Once.' });
    expect(await found()).toMatchObject([{ last_status: 'ok', repeat: { completed: 1 } }]);
  });
});
