import { type CreateJob, createRunId, TalariaError } from '@talaria/protocol';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Jobs } from '../journal/jobs.ts';
import type { JournalFixture } from '../journal/journal.contract.ts';
import { openTempJournal } from '../journal/sqlite/testing/temp-journal.ts';
import { completed, counting, LEASE_MS, NO_LIMIT, newRun } from '../journal/testing/records.ts';
import { ScheduledJobs } from './scheduled-jobs.ts';
import type { StartJobRun } from './start-job-run.ts';
import { TestTime } from './testing/test-time.ts';

const REQUEST: CreateJob = {
  name: 'report',
  schedule: 'every 1h',
  prompt: 'Report.',
  skills: [],
  deliver: 'local',
  repeat: null,
  timezone: undefined,
  retentionSeconds: null,
};

let time: TestTime;
let fixture: JournalFixture;
let store: Jobs;

beforeEach(async () => {
  time = new TestTime('2026-11-16T03:00:00Z');
  fixture = await openTempJournal({ now: time.now });
  store = fixture.journal.jobs;
});
afterEach(() => fixture.dispose());

const startRun: StartJobRun = async ({ jobId, version }, nextRunAt) => {
  const runId = createRunId();
  const run = newRun({ runId, job: { jobId, version, nextRunAt } });
  return (await fixture.journal.createRun(run, NO_LIMIT)).kind === 'created' ? runId : undefined;
};

const open = (start = startRun) =>
  new ScheduledJobs({ store, startRun: start, maxJobs: 100, timezone: () => 'Europe/Berlin', now: time.now });

test('concurrent changes are all made, none over another', async () => {
  const jobs = open();
  const { id } = await jobs.create('ada', REQUEST);
  await Promise.all([
    jobs.update('ada', id, { name: 'renamed' }),
    jobs.update('ada', id, { prompt: 'Other.' }),
    jobs.pause('ada', id, 'holidays'),
    jobs.update('ada', id, { schedule: '0 9 * * *' }),
  ]);
  expect(await jobs.get('ada', id)).toMatchObject({
    name: 'renamed',
    prompt: 'Other.',
    state: 'paused',
    paused_reason: 'holidays',
    schedule: { kind: 'cron' },
    next_run_at: null,
  });
  expect(await jobs.resume('ada', id)).toMatchObject({ next_run_at: '2026-11-16T08:00:00.000Z' });
});

test('one of many concurrent starts succeeds, and the others hear that the job runs', async () => {
  const jobs = open();
  const { id } = await jobs.create('ada', REQUEST);
  const outcomes = await Promise.allSettled(counting(10).map(() => jobs.run('ada', id)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'job_running' });
  }
});

test('a job that changes while it is started is started in its new form', async () => {
  const prompts: string[] = [];
  const jobs = open(async (job, nextRunAt) => {
    prompts.push(job.prompt);
    if (prompts.length === 1) await store.update(job, { prompt: 'Something else.' });
    return startRun(job, nextRunAt);
  });
  const { id } = await jobs.create('ada', REQUEST);
  await jobs.run('ada', id);
  expect(prompts).toEqual(['Report.', 'Something else.']);
});

test('a start is answered even if its run is over and its job gone before it is read again', async () => {
  const jobs = open(async (job, nextRunAt) => {
    const runId = await startRun(job, nextRunAt);
    const [claim] = await fixture.journal.claim('w', LEASE_MS, 1);
    await fixture.journal.append(claim!, [completed()]);
    return runId;
  });
  const { id } = await jobs.create('ada', { ...REQUEST, schedule: '1h' });
  expect(await jobs.run('ada', id)).toMatchObject({ id, last_run_id: expect.stringMatching(/^run_/) });
  await expect(jobs.get('ada', id)).rejects.toMatchObject({ code: 'job_not_found' });
});

test('a full queue is reported, and leaves the job unchanged', async () => {
  const jobs = open(async () => {
    throw new TalariaError('rate_limit_exceeded', { retryAfterS: 3 });
  });
  const job = await jobs.create('ada', REQUEST);
  await expect(jobs.run('ada', job.id)).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    retryAfterS: 3,
  });
  expect(await jobs.get('ada', job.id)).toEqual(job);
});
