/** Jobs: what is stored, what is due, and that only one of any number of callers starts the run of a job. */
import { createRunId } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { isRunning, type NewJob, type StoredJob } from '../jobs.ts';
import type { Subject } from '../journal.contract.ts';
import type { CreateOutcome } from '../journal.ts';
import {
  cancelledRecord,
  completed,
  counting,
  createRun,
  evictExpired,
  failed,
  LEASE_MS,
  NO_LIMIT,
  newJob,
  newRun,
} from '../testing/records.ts';

const HOUR_MS = 3_600_000;
const MANY = 1000;

export function jobsContract(subject: Subject): void {
  const { itTimed } = subject;
  const jobs = () => subject.journal.jobs;

  async function createJob(fields: Partial<NewJob> = {}): Promise<StoredJob> {
    const job = await jobs().create(newJob(fields), MANY);
    if (job === undefined) throw new Error('The job was not created');
    return job;
  }

  const read = async (jobId: string, journal = subject.journal): Promise<StoredJob> => {
    const job = await journal.jobs.get(jobId);
    if (job === undefined) throw new Error('The job is gone');
    return job;
  };

  const start = (
    { jobId, version }: StoredJob,
    nextRunAt?: number | null,
    runId = createRunId(),
    limits = NO_LIMIT,
    journal = subject.journal,
  ): Promise<CreateOutcome> =>
    journal.createRun(newRun({ runId, job: { jobId, version, nextRunAt } }), limits);

  /** A run of the job that ended with this record. Nothing else may be waiting. */
  async function runToEnd(job: StoredJob, end = completed()): Promise<string> {
    const { journal } = subject;
    const runId = createRunId();
    expect(await start(job, job.nextRunAt, runId)).toEqual({ kind: 'created' });
    const [claim] = await journal.claim('w', LEASE_MS, 1);
    expect(claim?.runId).toBe(runId);
    await journal.append(claim!, [end]);
    return runId;
  }

  describe('keeping', () => {
    it('returns a job as it was created, also after a restart', async () => {
      const job = newJob({
        times: 3,
        nextRunAt: 5,
        schedule: { kind: 'cron', expr: '0 9 * * *', display: 'x' },
      });
      const created = await jobs().create(job, MANY);
      expect(created).toEqual({
        ...job,
        version: expect.any(Number),
        createdAt: expect.any(Number),
        completed: 0,
        pausedAt: null,
        pausedReason: null,
        lastRunId: null,
        lastRunAt: null,
        lastStatus: null,
        lastError: null,
        lastSkippedAt: null,
      });
      expect(await read(job.jobId)).toEqual(created);
      const journal = await subject.reopen();
      expect(await read(job.jobId, journal)).toEqual(created);
    });

    itTimed("takes its time from the store's clock", async () => {
      expect((await createJob()).createdAt).toBe(subject.clock.now());
    });

    it("lists an owner's jobs, oldest first", async () => {
      const [first, other, second] = [
        await createJob(),
        await createJob({ owner: 'bob' }),
        await createJob(),
      ];
      expect(await jobs().list('ada')).toEqual([first, second]);
      expect(await jobs().list('bob')).toEqual([other]);
      expect(await jobs().list('eve')).toEqual([]);
    });

    it('accepts as many jobs of an owner as allowed, also when they come at once', async () => {
      await createJob({ owner: 'bob' });
      const made = await Promise.all(counting(10).map(() => jobs().create(newJob(), 3)));
      expect(made.filter((job) => job !== undefined)).toHaveLength(3);
      expect(await jobs().list('ada')).toHaveLength(3);
      await jobs().delete((await jobs().list('ada'))[0]!.jobId);
      expect(await jobs().create(newJob(), 3)).toBeDefined();
    });

    it('refuses an id that exists', async () => {
      const job = await createJob();
      await expect(jobs().create(newJob({ jobId: job.jobId, owner: 'bob' }), MANY)).rejects.toThrow();
      expect(await read(job.jobId)).toEqual(job);
    });

    it('deletes a job, once', async () => {
      const job = await createJob();
      expect(await jobs().delete(job.jobId)).toBe(true);
      expect(await jobs().delete(job.jobId)).toBe(false);
      expect(await jobs().get(job.jobId)).toBeUndefined();
      expect(await jobs().update(job, { name: 'x' })).toBeUndefined();
    });
  });

  describe('changing', () => {
    it('changes the given fields and leaves the others', async () => {
      const job = await createJob({ nextRunAt: 5 });
      const change = { name: 'b', skills: [], nextRunAt: null, pausedAt: 7, pausedReason: 'holidays' };
      const changed = await jobs().update(job, change);
      expect(changed).toEqual({ ...job, ...change, version: expect.any(Number) });
      expect(changed!.version).toBeGreaterThan(job.version);
      expect(await read(job.jobId)).toEqual(changed);
    });

    it('changes everything that can be changed', async () => {
      const job = await createJob();
      const change = {
        name: 'n',
        prompt: 'p',
        skills: ['s'],
        deliver: 'd',
        schedule: { kind: 'once', run_at: 'r', display: 'o' },
        timezone: 'UTC',
        times: 4,
        nextRunAt: 1,
        pausedAt: 2,
        pausedReason: 'because',
        lastSkippedAt: 3,
      } as const;
      expect(await jobs().update(job, change)).toEqual({ ...job, ...change, version: expect.any(Number) });
    });

    it('accepts one of twenty changes of one version', async () => {
      const job = await createJob();
      const made = await Promise.all(counting(20).map((n) => jobs().update(job, { name: `n${n}` })));
      expect(made.filter((changed) => changed !== undefined)).toEqual([await read(job.jobId)]);
    });
  });

  describe('a run for a job', () => {
    itTimed('is an ordinary run, and the job shows it and its next time', async () => {
      const job = await createJob({ nextRunAt: 1000 });
      const runId = createRunId();
      expect(await start(job, 2000, runId)).toEqual({ kind: 'created' });
      expect(await subject.journal.getRun(runId)).toMatchObject({ runId, owner: 'ada' });
      const fired = await read(job.jobId);
      expect(fired).toEqual({
        ...job,
        version: expect.any(Number),
        nextRunAt: 2000,
        lastRunId: runId,
        lastRunAt: subject.clock.now(),
      });
      expect(isRunning(fired)).toBe(true);
      const [claim] = await subject.journal.claim('w', LEASE_MS, 1);
      expect(claim?.runId).toBe(runId);
    });

    it('in addition to the schedule leaves the next time unchanged', async () => {
      const job = await createJob({ nextRunAt: 1000 });
      await start(job);
      expect((await read(job.jobId)).nextRunAt).toBe(1000);
    });

    it('is created by one of twenty callers', async () => {
      const job = await createJob({ nextRunAt: 1000 });
      const outcomes = await Promise.all(counting(20).map(() => start(job, 2000)));
      expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(1);
      expect(outcomes.filter(({ kind }) => kind === 'job_changed')).toHaveLength(19);
      expect((await subject.journal.listRuns({ owner: 'ada', limit: 100 })).runs).toHaveLength(1);
    });

    it('is refused when the job has changed or is gone, and leaves nothing', async () => {
      const job = await createJob();
      const changed = await jobs().update(job, { prompt: 'Something else.' });
      expect(await start(job, 5)).toEqual({ kind: 'job_changed' });
      expect(await read(job.jobId)).toEqual(changed);
      await jobs().delete(job.jobId);
      expect(await start(changed!, 5)).toEqual({ kind: 'job_changed' });
      expect((await subject.journal.listRuns({ owner: 'ada', limit: 10 })).runs).toEqual([]);
      expect(await subject.journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
    });

    it('is refused while the last one is unfinished, also after a restart', async () => {
      const job = await createJob();
      await start(job, 5);
      expect(await start(await read(job.jobId), 6)).toEqual({ kind: 'job_changed' });
      const journal = await subject.reopen();
      const found = await read(job.jobId, journal);
      expect(found).toMatchObject({ nextRunAt: 5 });
      expect(await start(found, 6, createRunId(), NO_LIMIT, journal)).toEqual({ kind: 'job_changed' });
    });

    it('is refused when the queue is full, and leaves the job unchanged', async () => {
      const job = await createJob({ nextRunAt: 1 });
      await createRun(subject.journal);
      const full = { maxQueued: 1, ownerShare: 0 };
      expect(await start(job, 5, createRunId(), full)).toMatchObject({ kind: 'queue_full' });
      expect(await read(job.jobId)).toEqual(job);
    });
  });

  describe('the end of its run', () => {
    it.each([
      ['completed', completed('all well'), { lastStatus: 'ok', lastError: null }],
      ['failed', failed('no luck'), { lastStatus: 'error', lastError: 'no luck' }],
      ['failed with a zero character', failed('no\0luck'), { lastError: expect.stringMatching(/^no.luck$/) }],
      ['cancelled', cancelledRecord(), { lastStatus: 'error', lastError: 'The run was stopped' }],
    ] as const)('that has %s is shown and counted, and the job can run again', async (_, end, expected) => {
      const job = await createJob();
      const runId = await runToEnd(job, end);
      const ended = await read(job.jobId);
      expect(ended).toMatchObject({ ...expected, lastRunId: runId, completed: 1 });
      expect(isRunning(ended)).toBe(false);
      await runToEnd(ended);
      expect(await read(job.jobId)).toMatchObject({ completed: 2, lastStatus: 'ok', lastError: null });
    });

    it('is shown as soon as the run has ended, and not before', async () => {
      const job = await createJob();
      await runToEnd(job, failed());
      await start(await read(job.jobId));
      expect(await read(job.jobId)).toMatchObject({ lastStatus: null, lastError: null, completed: 1 });
      await subject.journal.post((await read(job.jobId)).lastRunId!, { kind: 'stop' });
      expect(await read(job.jobId)).toMatchObject({ lastStatus: 'error', completed: 2 });
    });

    it('deletes the job when it has run as often as allowed', async () => {
      const job = await createJob({ times: 2 });
      await runToEnd(job, failed());
      expect(await read(job.jobId)).toMatchObject({ completed: 1 });
      await runToEnd(await read(job.jobId));
      expect(await jobs().get(job.jobId)).toBeUndefined();
    });

    it('changes no other job, and none when its own was deleted', async () => {
      const [job, other] = [await createJob(), await createJob()];
      await start(job);
      await jobs().delete(job.jobId);
      const [claim] = await subject.journal.claim('w', LEASE_MS, 1);
      await subject.journal.append(claim!, [completed()]);
      expect(await jobs().list('ada')).toEqual([other]);
    });

    it('makes earlier reads of the job stale', async () => {
      const job = await createJob();
      await start(job);
      const running = await read(job.jobId);
      const [claim] = await subject.journal.claim('w', LEASE_MS, 1);
      await subject.journal.append(claim!, [completed()]);
      expect(await jobs().update(running, { nextRunAt: 9 })).toBeUndefined();
    });

    it('is kept when the run is evicted', async () => {
      const job = await createJob();
      const runId = await runToEnd(job);
      expect(await evictExpired(subject.journal, 0, 10)).toEqual([runId]);
      expect(await read(job.jobId)).toMatchObject({ lastRunId: runId, lastStatus: 'ok', completed: 1 });
    });
  });

  describe('the agenda', () => {
    itTimed('has what is due now, the longest overdue first, of all owners', async () => {
      const now = subject.clock.now();
      const soon = await createJob({ nextRunAt: now + HOUR_MS });
      const due = await createJob({ nextRunAt: now });
      const overdue = await createJob({ nextRunAt: now - HOUR_MS, owner: 'bob' });
      const later = await createJob({ nextRunAt: now + 2 * HOUR_MS });
      await createJob({ nextRunAt: null });
      expect(await jobs().agenda(10)).toEqual({ now, due: [overdue, due], nextAt: now + HOUR_MS });
      expect(await jobs().agenda(1)).toMatchObject({ due: [overdue] });
      expect(await jobs().planned()).toEqual([soon, later]);
      subject.clock.advance(HOUR_MS);
      expect(await jobs().agenda(10)).toMatchObject({ due: [overdue, due, soon], nextAt: later.nextRunAt });
    });

    it('is empty without jobs', async () => {
      expect(await jobs().agenda(10)).toEqual({ now: expect.any(Number), due: [], nextAt: null });
      expect(await jobs().planned()).toEqual([]);
    });
  });

  describe('watching', () => {
    it('wakes for a job that is created or changed', async () => {
      let woken = 0;
      const unwatch = jobs().watch(() => {
        woken += 1;
      });
      const job = await createJob();
      expect(woken).toBe(1);
      const changed = await jobs().update(job, { nextRunAt: 5 });
      expect(woken).toBe(2);
      unwatch();
      await jobs().update(changed!, { nextRunAt: 6 });
      expect(woken).toBe(2);
    });
  });
}
