/** `/api/jobs`: runs on a schedule (PROTOCOL.md). Other tests check, with their own clock, when jobs are due. */
import type { Job } from '@talaria/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { CheckedApi, expectError, expectTextError } from './checked-api.ts';
import { apiOf, type GetTarget, modelRequest, say, uniqueName } from './target.ts';

const MISSING_JOB = '000000000000';
const RUN_ID = /^run_[0-9a-f]{32}$/;
const HOUR_MS = 3_600_000;

const REQUESTS: [string, string, unknown?][] = [
  ['GET', ''],
  ['PATCH', '', { name: 'x' }],
  ['PATCH', '', { name: '' }],
  ['PATCH', '', []],
  ['DELETE', ''],
  ['POST', '/pause'],
  ['POST', '/pause', { reason: 5 }],
  ['POST', '/resume'],
  ['POST', '/run'],
];

export function describeJobs(target: GetTarget): void {
  const api = () => apiOf(target());
  const made: string[] = [];

  afterEach(async () => {
    for (const id of made.splice(0)) await api().request('DELETE', `/api/jobs/${id}`);
  });

  async function createJob(fields: Record<string, unknown> = {}): Promise<Job> {
    const answer = await api().post<{ job: Job }>('/api/jobs', {
      name: uniqueName('job'),
      schedule: 'every 1h',
      ...fields,
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    made.push(answer.body.job.id);
    return answer.body.job;
  }

  const ask = async (method: string, path: string, body?: unknown): Promise<Job> => {
    const answer = await api().request<{ job: Job }>(method, `/api/jobs/${path}`, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body.job;
  };
  const get = (id: string) => ask('GET', id);
  const list = async (query = ''): Promise<string[]> =>
    (await api().get<{ jobs: Job[] }>(`/api/jobs${query}`)).body.jobs.map(({ id }) => id);
  const isGone = async (id: string) => (await api().get(`/api/jobs/${id}`)).status === 404;
  const fromNow = (job: Job) => Date.parse(job.next_run_at ?? '') - Date.now();

  describe('a job', () => {
    it('is created with a name and a schedule, and defaults for the rest', async () => {
      const name = uniqueName('job');
      const job = await createJob({ name, schedule: 'every 30m' });
      expect(job).toEqual({
        id: expect.stringMatching(/^[0-9a-f]{12}$/),
        name,
        prompt: '',
        skills: [],
        schedule: { kind: 'interval', minutes: 30, display: 'every 30m' },
        schedule_display: 'every 30m',
        timezone: expect.any(String),
        repeat: { times: null, completed: 0 },
        enabled: true,
        state: 'scheduled',
        paused_at: null,
        paused_reason: null,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        next_run_at: expect.any(String),
        last_run_at: null,
        last_run_id: null,
        last_status: null,
        last_error: null,
        last_skipped_at: null,
        deliver: 'local',
        retention_seconds: null,
      });
      expect(fromNow(job)).toBeLessThanOrEqual(HOUR_MS / 2);
      expect(await get(job.id)).toEqual(job);
    });

    it('keeps the fields it knows, and ignores unknown ones', async () => {
      const fields = { prompt: 'Report.', skills: ['a', 'b'], deliver: 'telegram', timezone: 'Asia/Tokyo' };
      expect(await createJob({ ...fields, repeat: 3, colour: 'red', id: MISSING_JOB })).toMatchObject({
        ...fields,
        repeat: { times: 3, completed: 0 },
      });
    });

    it.each([
      ['90m', { kind: 'once', display: 'once in 90m' }],
      ['2h', { kind: 'once', display: 'once in 2h' }],
      ['1d', { kind: 'once', display: 'once in 1d' }],
      ['2099-12-31T23:00:00+01:00', { kind: 'once', run_at: '2099-12-31T22:00:00.000Z' }],
      ['every 2h', { kind: 'interval', minutes: 120 }],
      ['0 9 * * 1-5', { kind: 'cron', expr: '0 9 * * 1-5', display: '0 9 * * 1-5' }],
    ])('takes the schedule %s', async (schedule, expected) => {
      const job = await createJob({ schedule });
      expect(job.schedule).toMatchObject(expected);
      expect(job.schedule_display).toBe(job.schedule.display);
      expect(fromNow(job)).toBeGreaterThan(0);
      if (job.schedule.kind === 'once') {
        expect(job).toMatchObject({ next_run_at: job.schedule.run_at, repeat: { times: 1 } });
      }
    });

    it('uses the times of its zone', async () => {
      const daily = { schedule: '30 6 * * *' };
      const tokyo = await createJob({ ...daily, timezone: 'Asia/Tokyo' });
      expect(tokyo.next_run_at).toMatch(/T21:30:00\.000Z$/);
      expect((await createJob({ ...daily, timezone: 'UTC' })).next_run_at).toMatch(/T06:30:00\.000Z$/);
      expect((await ask('PATCH', tokyo.id, { timezone: 'UTC' })).next_run_at).toMatch(/T06:30:00\.000Z$/);
    });

    it('may say how long its runs are kept, which null takes back', async () => {
      const job = await createJob({ retention_seconds: 3_600 });
      expect(job.retention_seconds).toBe(3_600);
      const { last_run_id: runId } = await ask('POST', `${job.id}/run`);
      await api().finish(runId!);
      const { expires_at, updated_at } = await api().run(runId!);
      expect(expires_at! - updated_at).toBeCloseTo(3_600, 1);
      expect((await ask('PATCH', job.id, { name: 'other' })).retention_seconds).toBe(3_600);
      expect((await ask('PATCH', job.id, { retention_seconds: null })).retention_seconds).toBeNull();
      expect((await createJob()).retention_seconds).toBeNull();
    });

    it('is listed, oldest first; a paused one only on request', async () => {
      const [first, second] = [await createJob(), await createJob()];
      const mine = (ids: string[]) => ids.filter((id) => made.includes(id));
      expect(mine(await list())).toEqual([first.id, second.id]);
      await ask('POST', `${first.id}/pause`);
      expect(mine(await list())).toEqual([second.id]);
      expect(mine(await list('?include_disabled=false'))).toEqual([second.id]);
      expect(mine(await list('?include_disabled=true'))).toEqual([first.id, second.id]);
    });

    it('is deleted once', async () => {
      const { id } = await createJob();
      expect(await api().request('DELETE', `/api/jobs/${id}`)).toMatchObject({
        status: 200,
        body: { ok: true },
      });
      expectTextError(await api().request('DELETE', `/api/jobs/${id}`), {
        status: 404,
        message: 'Job not found',
      });
    });
  });

  describe('a change', () => {
    it('changes the given fields, and nothing else', async () => {
      const job = await createJob({ prompt: 'Report.' });
      expect(await ask('PATCH', job.id, { name: 'renamed', owner: 'eve' })).toEqual({
        ...job,
        name: 'renamed',
      });
      expect(await ask('PATCH', job.id, {})).toEqual({ ...job, name: 'renamed' });
      const more = { prompt: 'Other.', skills: ['x'], deliver: 'origin' };
      expect(await ask('PATCH', job.id, more)).toEqual({ ...job, name: 'renamed', ...more });
    });

    it('of the schedule sets the next time', async () => {
      const job = await createJob({ schedule: 'every 30m' });
      const changed = await ask('PATCH', job.id, { schedule: '2099-01-01T00:00:00Z' });
      expect(changed).toMatchObject({
        schedule: { kind: 'once' },
        next_run_at: '2099-01-01T00:00:00.000Z',
        repeat: { times: 1 },
      });
      const back = await ask('PATCH', job.id, { schedule: 'every 1h', repeat: 9 });
      expect(back).toMatchObject({ schedule: { kind: 'interval' }, repeat: { times: 9 } });
      expect(fromNow(back)).toBeLessThanOrEqual(HOUR_MS);
    });

    it('of enabled pauses and resumes', async () => {
      const { id } = await createJob();
      expect(await ask('PATCH', id, { enabled: false })).toMatchObject({
        state: 'paused',
        next_run_at: null,
      });
      expect(await ask('PATCH', id, { enabled: true })).toMatchObject({
        enabled: true,
        state: 'scheduled',
        paused_at: null,
        next_run_at: expect.any(String),
      });
    });

    it.each<[object, string]>([
      [{ name: ' ' }, 'Name is required'],
      [{ schedule: '' }, 'Schedule is required'],
    ])('to %j is refused', async (change, message) => {
      const job = await createJob();
      expectTextError(await api().request('PATCH', `/api/jobs/${job.id}`, { body: change }), {
        status: 400,
        message,
      });
      expect(await get(job.id)).toEqual(job);
    });
  });

  describe('a pause', () => {
    it('shows since when and why, and the job has no next time', async () => {
      const { id } = await createJob();
      const paused = await ask('POST', `${id}/pause`, { reason: 'holidays' });
      expect(paused).toMatchObject({
        enabled: false,
        state: 'paused',
        paused_at: expect.any(String),
        paused_reason: 'holidays',
        next_run_at: null,
      });
      expect(await ask('POST', `${id}/pause`)).toEqual(paused);
      const resumed = await ask('POST', `${id}/resume`);
      expect(resumed).toMatchObject({
        enabled: true,
        state: 'scheduled',
        paused_at: null,
        paused_reason: null,
      });
      expect(fromNow(resumed)).toBeGreaterThan(0);
      expect(await ask('POST', `${id}/resume`)).toEqual(resumed);
    });
  });

  describe('what is wrong is said', () => {
    it.each<[unknown, string]>([
      [{}, 'Name is required'],
      [{ schedule: 'nonsense' }, 'Name is required'],
      [{ name: '', schedule: '' }, 'Name is required'],
      [{ name: 'x' }, 'Schedule is required'],
      [{ name: 'x', schedule: '  ', prompt: 5 }, 'Schedule is required'],
    ])('of %j in the order name, schedule', async (body, message) => {
      expectTextError(await api().post('/api/jobs', body), { status: 400, message });
    });

    it.each([
      'nonsense',
      '30s',
      'every',
      '* * * *',
      '0 0 9 * * 1-5',
      '99 * * * *',
      '0 0 30 2 *',
      '2020-01-01T00:00:00Z',
    ])('of the schedule %s, with the accepted forms and an example of each', async (schedule) => {
      const answer = await api().post<{ error: string }>('/api/jobs', { name: 'x', schedule });
      expectTextError(answer, { status: 400 });
      expect(answer.body.error).toContain(schedule);
      for (const example of ['30m', 'every 30m', 'T14:00:00Z', '0 9 * * 1-5']) {
        expect(answer.body.error).toContain(example);
      }
    });

    it.each<[object]>([
      [{ repeat: 0 }],
      [{ repeat: 'often' }],
      [{ prompt: 5 }],
      [{ prompt: 'x'.repeat(50_001) }],
      [{ name: 'x'.repeat(201) }],
      [{ skills: 'x' }],
      [{ timezone: 'Mars/Olympus' }],
    ])('of a field such as %j', async (fields) => {
      const body = { name: 'x', schedule: '1h', ...fields };
      expectTextError(await api().post('/api/jobs', body), { status: 400 });
    });

    it('of a body that is not JSON or not an object', async () => {
      const raw = { raw: '{"name":' };
      expectTextError(await api().request('POST', '/api/jobs', raw), {
        status: 400,
        message: 'Invalid JSON in request body',
      });
      expectTextError(await api().post('/api/jobs', []), { status: 400 });
    });

    it.each(REQUESTS)('of a malformed id, by %s %s %j', async (method, path, body) => {
      for (const id of ['x', '0123456789AB', '0123456789abc', '..%2f..']) {
        const answer = await api().request(method, `/api/jobs/${id}${path}`, { body });
        expectTextError(answer, { status: 400, message: 'Invalid job ID format' });
      }
    });

    it.each(REQUESTS)('of a job that does not exist, by %s %s %j', async (method, path, body) => {
      const answer = await api().request(method, `/api/jobs/${MISSING_JOB}${path}`, { body });
      expectTextError(answer, { status: 404, message: 'Job not found' });
    });

    it('of an unknown method or path, in the envelope', async () => {
      expectError(await api().request('PUT', '/api/jobs'), { status: 405, code: 'method_not_allowed' });
      expectError(await api().post(`/api/jobs/${MISSING_JOB}/launch`), { status: 404, code: 'not_found' });
    });
  });

  describe('a run of a job', () => {
    it('started by hand is an ordinary run, found by last_run_id', async () => {
      const prompt = say('reported');
      const job = await createJob({ prompt });
      const started = await ask('POST', `${job.id}/run`);
      expect(started).toMatchObject({ id: job.id, last_run_id: expect.stringMatching(RUN_ID) });
      expect(started.next_run_at).toBe(job.next_run_at);
      const runId = started.last_run_id!;
      expect(await api().finish(runId)).toMatchObject({ event: 'run.completed', output: 'reported' });
      expect((await modelRequest(target(), prompt)).body.messages.at(-1)).toMatchObject({ role: 'user' });
      expect(await get(job.id)).toMatchObject({
        last_run_id: runId,
        last_run_at: expect.any(String),
        last_status: 'ok',
        last_error: null,
        repeat: { times: null, completed: 1 },
      });
      expect((await api().run(runId)).session_id).toBe(runId);
    });

    it('is the only one at a time, and its job shows its end', async () => {
      const gate = uniqueName('held');
      const job = await createJob({ prompt: script([{ text: 'x', gate }]) });
      const { last_run_id } = await ask('POST', `${job.id}/run`);
      expectTextError(await api().post(`/api/jobs/${job.id}/run`), { status: 409 });
      expect(await get(job.id)).toMatchObject({ last_run_id, last_status: null, repeat: { completed: 0 } });
      await api().stop(last_run_id!);
      await api().finish(last_run_id!);
      target().model.open(gate);
      expect(await get(job.id)).toMatchObject({
        last_status: 'error',
        last_error: 'The run was stopped',
        repeat: { completed: 1 },
      });
      expect((await ask('POST', `${job.id}/run`)).last_run_id).not.toBe(last_run_id);
    });

    it('that fails is shown with its error', async () => {
      const prompt = script([{ error: { status: 400, message: 'no such luck' } }]);
      const job = await createJob({ prompt });
      const { last_run_id } = await ask('POST', `${job.id}/run`);
      const { error } = (await api().finish(last_run_id!)) as { error?: string };
      expect(await get(job.id)).toMatchObject({ last_status: 'error', last_error: error });
    });

    it('of a paused job is possible, and leaves it paused', async () => {
      const job = await createJob({ prompt: say('all the same') });
      await ask('POST', `${job.id}/pause`);
      const { last_run_id } = await ask('POST', `${job.id}/run`);
      await api().finish(last_run_id!);
      expect(await get(job.id)).toMatchObject({ state: 'paused', next_run_at: null, last_status: 'ok' });
    });

    it('is the last when the job has run as often as allowed', async () => {
      const job = await createJob({ prompt: say('twice'), repeat: 2 });
      for (const completed of [1, 2]) {
        const { last_run_id } = await ask('POST', `${job.id}/run`);
        await api().finish(last_run_id!);
        if (completed === 1) expect(await get(job.id)).toMatchObject({ repeat: { times: 2, completed } });
      }
      expect(await isGone(job.id)).toBe(true);
    });

    it('continues when its job is deleted', async () => {
      const gate = uniqueName('held');
      const job = await createJob({ prompt: script([{ text: 'finished', gate }]) });
      const { last_run_id } = await ask('POST', `${job.id}/run`);
      await api().request('DELETE', `/api/jobs/${job.id}`);
      target().model.open(gate);
      expect(await api().finish(last_run_id!)).toMatchObject({ output: 'finished' });
    });

    it('gets the name of a job without a prompt', async () => {
      const job = await createJob({ name: say('by name') });
      const { last_run_id } = await ask('POST', `${job.id}/run`);
      expect(await api().finish(last_run_id!)).toMatchObject({ output: 'by name' });
    });

    it('starts by itself at its time, once, and deletes a job that runs once', async () => {
      const gate = uniqueName('held');
      const schedule = new Date(Date.now() + 1_000).toISOString();
      const job = await createJob({ schedule, prompt: script([{ text: 'on time', gate }]) });
      const { last_run_id, last_run_at } = await waitFor('the run', async () => {
        const now = await get(job.id);
        return now.last_run_id !== null && now;
      });
      expect(Date.parse(last_run_at!)).toBeGreaterThanOrEqual(Date.parse(schedule));
      expect(await get(job.id)).toMatchObject({ next_run_at: null });
      target().model.open(gate);
      expect(await api().finish(last_run_id!)).toMatchObject({ output: 'on time' });
      expect(await isGone(job.id)).toBe(true);
    });
  });
}

export function describeJobOwnership(target: GetTarget): void {
  describe("another key's job", () => {
    it('looks like one that does not exist, and does not change', async () => {
      const [mine, other] = [apiOf(target()), new CheckedApi(target().baseUrl, target().otherKey)];
      const { body } = await mine.post<{ job: Job }>('/api/jobs', { name: 'mine', schedule: '1h' });
      const { id } = body.job;
      for (const [method, path, given] of REQUESTS) {
        const answer = await other.request(method, `/api/jobs/${id}${path}`, { body: given });
        expectTextError(answer, { status: 404, message: 'Job not found' });
      }
      const listed = await other.get<{ jobs: Job[] }>('/api/jobs?include_disabled=true');
      expect(listed.body.jobs.map((job) => job.id)).not.toContain(id);
      expect((await mine.get(`/api/jobs/${id}`)).body).toEqual(body);
      await mine.request('DELETE', `/api/jobs/${id}`);
    });
  });
}
