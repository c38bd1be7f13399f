import { createRunId, TalariaError } from '@talaria/protocol';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Log } from '../basics/log.ts';
import type { Jobs, NewJob, StoredJob } from '../journal/jobs.ts';
import type { JournalFixture } from '../journal/journal.contract.ts';
import { openTempJournal } from '../journal/sqlite/testing/temp-journal.ts';
import { completed, counting, LEASE_MS, NO_LIMIT, newJob, newRun } from '../journal/testing/records.ts';
import type { Report } from '../telemetry/facts.ts';
import { JobScheduler } from './job-scheduler.ts';
import { nextRunOf } from './plan.ts';
import { parseSchedule } from './schedule.ts';
import type { StartJobRun } from './start-job-run.ts';
import { TestTime } from './testing/test-time.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MANY = 1000;

let time: TestTime;
let fixture: JournalFixture;
let store: Jobs;
let limits: typeof NO_LIMIT;
/** What was started: the job, and when. */
let fired: { jobId: string; at: string }[];
let logged: string[];
const schedulers: JobScheduler[] = [];
const note = (_fields: object, message: string) => logged.push(message);
const log: Log = { debug() {}, info: note, warn: note, error: note };

beforeEach(async () => {
  time = new TestTime('2026-11-16T03:00:00Z');
  fixture = await openTempJournal({ now: time.now });
  store = fixture.journal.jobs;
  limits = NO_LIMIT;
  fired = [];
  logged = [];
});
afterEach(async () => {
  for (const scheduler of schedulers.splice(0)) await scheduler.stop();
  await fixture.dispose();
});

const startRun: StartJobRun = async ({ jobId, version, owner }, nextRunAt) => {
  const runId = createRunId();
  const run = newRun({ runId, owner, job: { jobId, version, nextRunAt } });
  const { kind } = await fixture.journal.createRun(run, limits);
  if (kind === 'queue_full') throw new TalariaError('rate_limit_exceeded');
  if (kind !== 'created') return undefined;
  fired.push({ jobId, at: new Date(time.now()).toISOString() });
  return runId;
};

async function startScheduler(
  options: { store?: Jobs; startRun?: StartJobRun; report?: Report } = {},
): Promise<JobScheduler> {
  const isServed = (owner: string) => owner !== 'gone';
  const scheduler = new JobScheduler({ store, startRun, isServed, log, after: time.after, ...options });
  schedulers.push(scheduler);
  scheduler.start();
  await time.rest(schedulers.length);
  return scheduler;
}

async function createJob(schedule: string, fields: Partial<NewJob> = {}): Promise<StoredJob> {
  const timezone = fields.timezone ?? 'UTC';
  const parsed = parseSchedule(schedule, timezone, time.now());
  const job = newJob({
    schedule: parsed,
    timezone,
    times: parsed.kind === 'once' ? 1 : null,
    nextRunAt: nextRunOf(parsed, timezone, time.now()),
    ...fields,
  });
  return (await store.create(job, MANY))!;
}

/** Ends every unfinished run. */
async function finishRuns(): Promise<void> {
  for (const claim of await fixture.journal.claim('w', LEASE_MS, MANY)) {
    await fixture.journal.append(claim, [completed()]);
  }
}

const times = (jobId?: string) =>
  fired.filter((firing) => jobId === undefined || firing.jobId === jobId).map(({ at }) => at);
const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

describe('a job', () => {
  test('fires at its time, neither before nor again', async () => {
    await startScheduler();
    const { jobId } = await createJob('2h');
    await time.advance(2 * HOUR_MS - 1);
    expect(fired).toEqual([]);
    await time.advance(1);
    expect(times()).toEqual(['2026-11-16T05:00:00.000Z']);
    expect(await store.get(jobId)).toMatchObject({ nextRunAt: null, lastRunId: expect.any(String) });
    await finishRuns();
    expect(await store.get(jobId)).toBeUndefined();
    await time.advance(HOUR_MS);
    expect(fired).toHaveLength(1);
  });

  test('fires at the times of its interval, however long its runs take', async () => {
    await startScheduler();
    await createJob('every 30m');
    for (const _ of counting(3)) {
      await time.advance(37 * MINUTE_MS);
      await finishRuns();
    }
    expect(times()).toEqual([
      '2026-11-16T03:30:00.000Z',
      '2026-11-16T04:00:00.000Z',
      '2026-11-16T04:30:00.000Z',
    ]);
  });

  test('is waited for however far away it is, with polls in between', async () => {
    await startScheduler();
    await createJob('3000d');
    expect(time.nextTimer - time.now()).toBeLessThanOrEqual(60_000);
  });

  test('is noticed at once when it is created, moved or paused while the scheduler waits', async () => {
    await startScheduler();
    const moved = await createJob('1d');
    const paused = await createJob('2m');
    await createJob('every 5m');
    await time.rest();
    await store.update(moved, { nextRunAt: time.now() + MINUTE_MS });
    await store.update(paused, { nextRunAt: null, pausedAt: time.now() });
    await time.advance(5 * MINUTE_MS);
    expect(times()).toEqual(['2026-11-16T03:01:00.000Z', '2026-11-16T03:05:00.000Z']);
  });

  test('that another server creates is found by the poll', async () => {
    const deaf: Jobs = {
      create: (...args) => store.create(...args),
      get: (...args) => store.get(...args),
      list: (...args) => store.list(...args),
      update: (...args) => store.update(...args),
      delete: (...args) => store.delete(...args),
      agenda: (...args) => store.agenda(...args),
      planned: () => store.planned(),
      watch: () => () => {},
    };
    await startScheduler({ store: deaf });
    await createJob('1m');
    await time.advance(2 * MINUTE_MS);
    expect(times()).toEqual(['2026-11-16T03:01:00.000Z']);
  });

  test('with a time zone that is unknown here delays no other', async () => {
    await createJob('every 1m', { timezone: 'UTC' });
    const cron = { kind: 'cron', expr: '* * * * *', display: '' } as const;
    const broken = newJob({ schedule: cron, timezone: 'Mars/Olympus', nextRunAt: time.now() });
    await store.create(broken, MANY);
    await startScheduler();
    await time.advance(MINUTE_MS);
    expect(times()).toEqual(['2026-11-16T03:01:00.000Z']);
    // Logged once, not at each of the twelve attempts since.
    expect(logged).toEqual(['a job that is due could not be started; it will be retried']);
  });
});

describe('jobs that came due while no server was running', () => {
  test('fire once, and continue with their next time', async () => {
    const jobs = [await createJob('every 30m'), await createJob('0 * * * *'), await createJob('1h')];
    time.set('2026-11-18T12:10:00Z');
    await startScheduler();
    expect(fired.map(({ jobId }) => jobId).sort()).toEqual(jobs.map(({ jobId }) => jobId).sort());
    expect(iso((await store.get(jobs[0]!.jobId))!.nextRunAt)).toBe('2026-11-18T12:30:00.000Z');
    expect(iso((await store.get(jobs[1]!.jobId))!.nextRunAt)).toBe('2026-11-18T13:00:00.000Z');
    expect((await store.get(jobs[2]!.jobId))!.nextRunAt).toBeNull();
  });

  test('fire all at once, also when they are very many', async () => {
    for (const _ of counting(120)) await createJob('1m');
    time.set('2026-11-17T00:00:00Z');
    await startScheduler();
    expect(new Set(fired.map(({ jobId }) => jobId)).size).toBe(120);
    expect(fired).toHaveLength(120);
  });
});

describe('when the clock is set', () => {
  test('back, a job is not silent for as long as the clock was ahead', async () => {
    time.set('2038-01-19T00:00:00Z');
    const [interval, cron] = [await createJob('every 30m'), await createJob('0 9 * * *')];
    await startScheduler();
    time.set('2026-11-16T03:00:00Z');
    // The running server notices at its next poll.
    const another = await createJob('1d');
    await time.rest();
    expect(iso((await store.get(interval.jobId))!.nextRunAt)).toBe('2026-11-16T03:30:00.000Z');
    expect(iso((await store.get(cron.jobId))!.nextRunAt)).toBe('2026-11-16T09:00:00.000Z');
    expect((await store.get(another.jobId))!.nextRunAt).toBe(another.nextRunAt);
  });

  test('back while the server was down, it is not silent either', async () => {
    time.set('2038-01-19T00:00:00Z');
    const { jobId } = await createJob('every 30m');
    time.set('2026-11-16T03:00:00Z');
    await startScheduler();
    expect(iso((await store.get(jobId))!.nextRunAt)).toBe('2026-11-16T03:30:00.000Z');
  });

  test('forward, what is due by then fires once', async () => {
    await startScheduler();
    const { jobId } = await createJob('every 30m');
    await time.rest();
    time.set('2026-11-16T09:10:00Z');
    await time.advance(MINUTE_MS);
    expect(times(jobId)).toHaveLength(1);
    expect(iso((await store.get(jobId))!.nextRunAt)).toBe('2026-11-16T09:30:00.000Z');
  });
});

describe('a job that is due while its last run is unfinished', () => {
  test('is skipped, shows that, and fires at its next time', async () => {
    await startScheduler();
    const { jobId } = await createJob('every 30m');
    await time.advance(65 * MINUTE_MS);
    expect(times()).toEqual(['2026-11-16T03:30:00.000Z']);
    expect(await store.get(jobId)).toMatchObject({
      lastSkippedAt: Date.parse('2026-11-16T04:00:00Z'),
      nextRunAt: Date.parse('2026-11-16T04:30:00Z'),
      completed: 0,
    });
    await finishRuns();
    await time.advance(30 * MINUTE_MS);
    expect(times()).toEqual(['2026-11-16T03:30:00.000Z', '2026-11-16T04:30:00.000Z']);
  });
});

describe('a full queue', () => {
  test('delays a job and does not lose it', async () => {
    await startScheduler();
    const job = await createJob('30m');
    limits = { maxQueued: 0, ownerShare: 0 };
    await time.advance(31 * MINUTE_MS);
    expect(fired).toEqual([]);
    expect(await store.get(job.jobId)).toEqual(job);
    expect(logged).toContain('jobs are due and the queue is full; they will be retried');
    limits = NO_LIMIT;
    await time.advance(10_000);
    expect(fired).toHaveLength(1);
  });

  test('of one owner does not delay the jobs of another, however many wait', async () => {
    for (const _ of counting(70)) await createJob('1m', { owner: 'ada' });
    const { jobId } = await createJob('2m', { owner: 'bob' });
    time.set('2026-11-16T04:00:00Z');
    // Nobody may queue more than one.
    limits = { maxQueued: 0, ownerShare: 1 };
    await startScheduler();
    expect(times(jobId)).toHaveLength(1);
    expect(fired).toHaveLength(2);
  });
});

test('the jobs of a key that is no longer configured are not started, and delay no other', async () => {
  for (const _ of counting(60)) await createJob('1m', { owner: 'gone' });
  const { jobId } = await createJob('2m');
  time.set('2026-11-16T04:00:00Z');
  await startScheduler();
  expect(fired.map((firing) => firing.jobId)).toEqual([jobId]);
  expect(time.nextTimer - time.now()).toBeGreaterThan(10_000);
  expect((await store.list('gone')).every(({ lastRunId }) => lastRunId === null)).toBe(true);
});

test('a failed start is retried, and every outcome is reported', async () => {
  let failures = 2;
  const outcomes: string[] = [];
  await startScheduler({
    report: (fact) => fact.fact === 'job.due' && outcomes.push(fact.outcome),
    async startRun(job, nextRunAt) {
      if (failures-- > 0) throw new TalariaError('store_unavailable');
      return startRun(job, nextRunAt);
    },
  });
  await createJob('1m');
  await time.advance(2 * MINUTE_MS);
  expect(fired).toHaveLength(1);
  expect(outcomes).toEqual(['postponed', 'postponed', 'started']);
});

test('nothing is started after the stop', async () => {
  const scheduler = await startScheduler();
  await createJob('1m');
  await scheduler.stop();
  await time.advance(HOUR_MS, 0);
  expect(fired).toEqual([]);
});

test('of several servers on one store, one fires each job, every time', async () => {
  for (const _ of counting(3)) await startScheduler();
  const jobs = [];
  for (const _ of counting(10)) jobs.push(await createJob('every 10m'));
  for (const round of counting(4)) {
    await time.advance(10 * MINUTE_MS, 3);
    expect(fired).toHaveLength((round + 1) * jobs.length);
    await finishRuns();
  }
  for (const { jobId } of jobs) expect(new Set(times(jobId)).size).toBe(4);
});

describe('when the clocks change', () => {
  test.each([
    ['forward', 'Europe/Berlin', '30 2 * * *', '2026-03-29T00:00:00Z', ['2026-03-29T01:00:00.000Z']],
    ['forward', 'Europe/Berlin', '*/30 2 * * *', '2026-03-29T00:00:00Z', []],
    ['back', 'Europe/Berlin', '30 2 * * *', '2026-10-24T23:00:00Z', ['2026-10-25T00:30:00.000Z']],
    [
      'back',
      'Europe/Berlin',
      '0,30 2 * * *',
      '2026-10-24T23:00:00Z',
      [
        '2026-10-25T00:00:00.000Z',
        '2026-10-25T00:30:00.000Z',
        '2026-10-25T01:00:00.000Z',
        '2026-10-25T01:30:00.000Z',
      ],
    ],
    ['forward', 'America/New_York', '30 2 * * *', '2026-03-08T06:00:00Z', ['2026-03-08T07:00:00.000Z']],
    ['back', 'America/New_York', '30 1 * * *', '2026-11-01T05:00:00Z', ['2026-11-01T05:30:00.000Z']],
    ['forward', 'Australia/Lord_Howe', '15 2 * * *', '2026-10-03T15:00:00Z', ['2026-10-03T15:30:00.000Z']],
    ['back', 'Australia/Lord_Howe', '45 1 * * *', '2026-04-04T14:00:00Z', ['2026-04-04T14:45:00.000Z']],
    [
      'back',
      'Australia/Lord_Howe',
      '15,45 1 * * *',
      '2026-04-04T14:20:00Z',
      ['2026-04-04T14:45:00.000Z', '2026-04-04T15:15:00.000Z'],
    ],
  ])('%s in %s, %s fires as documented', async (_, timezone, expr, start, expected) => {
    time.set(start);
    await startScheduler();
    await createJob(expr, { timezone });
    for (const _ of counting(9)) {
      await time.advance(20 * MINUTE_MS);
      await finishRuns();
    }
    expect(times()).toEqual(expected);
  });
});
