/**
 * What the HTTP side can do with jobs. It holds no state: every answer comes from the store. A change is computed from
 * the job as it was read, and again if the job has changed meanwhile.
 */
import { randomBytes } from 'node:crypto';
import { type CreateJob, type Job, parseJobId, TalariaError, type UpdateJob } from '@talaria/protocol';
import { isRunning, type JobChange, type Jobs, type NewJob, type StoredJob } from '../journal/jobs.ts';
import { changeJob, pauseJob } from './change-job.ts';
import { nextRunOf } from './plan.ts';
import { parseSchedule } from './schedule.ts';
import type { StartJobRun } from './start-job-run.ts';
import { toWireJob } from './wire-job.ts';

export interface ScheduledJobsOptions {
  store: Jobs;
  startRun: StartJobRun;
  /** The maximum per owner. */
  maxJobs: number;
  /** The time zone of jobs that name none. */
  timezone(): string;
  now?: () => number;
}

export class ScheduledJobs {
  readonly #options: ScheduledJobsOptions;
  readonly #store: Jobs;
  readonly #now: () => number;

  constructor(options: ScheduledJobsOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#now = options.now ?? Date.now;
  }

  async create(owner: string, request: CreateJob): Promise<Job> {
    const {
      name,
      prompt,
      skills,
      deliver,
      repeat,
      retentionSeconds,
      timezone = this.#options.timezone(),
    } = request;
    const now = this.#now();
    const schedule = parseSchedule(request.schedule, timezone, now);
    const job: NewJob = {
      jobId: randomBytes(6).toString('hex'),
      owner,
      name,
      prompt,
      skills,
      deliver,
      schedule,
      timezone,
      times: schedule.kind === 'once' ? 1 : repeat,
      nextRunAt: nextRunOf(schedule, timezone, now),
      retentionSeconds,
    };
    const stored = await this.#store.create(job, this.#options.maxJobs);
    if (stored === undefined) throw new TalariaError('too_many_jobs');
    return toWireJob(stored);
  }

  async list(owner: string, includePaused: boolean): Promise<Job[]> {
    const jobs = await this.#store.list(owner);
    return jobs.filter(({ pausedAt }) => includePaused || pausedAt === null).map(toWireJob);
  }

  async get(owner: string, jobId: string): Promise<Job> {
    return toWireJob(await this.#find(owner, jobId));
  }

  update(owner: string, jobId: string, update: UpdateJob): Promise<Job> {
    return this.#change(owner, jobId, (job) => changeJob(job, update, this.#now()));
  }

  pause(owner: string, jobId: string, reason: string | undefined): Promise<Job> {
    return this.#change(owner, jobId, (job) => pauseJob(job, reason, this.#now()));
  }

  resume(owner: string, jobId: string): Promise<Job> {
    return this.update(owner, jobId, { enabled: true });
  }

  async delete(owner: string, jobId: string): Promise<void> {
    await this.#find(owner, jobId);
    if (!(await this.#store.delete(jobId))) throw new TalariaError('job_not_found');
  }

  /** Starts a run now, in addition to the schedule and also while the job is paused. */
  async run(owner: string, jobId: string): Promise<Job> {
    for (;;) {
      const job = await this.#find(owner, jobId);
      if (isRunning(job)) throw new TalariaError('job_running');
      const runId = await this.#options.startRun(job);
      if (runId === undefined) continue;
      // The job's last run may have ended, and the job been deleted with it, before the job is read again.
      const begun = { ...job, lastRunId: runId, lastRunAt: this.#now(), lastStatus: null, lastError: null };
      return toWireJob((await this.#store.get(jobId)) ?? begun);
    }
  }

  async #change(owner: string, jobId: string, work: (job: StoredJob) => JobChange): Promise<Job> {
    for (;;) {
      const job = await this.#find(owner, jobId);
      const change = work(job);
      if (Object.keys(change).length === 0) return toWireJob(job);
      const changed = await this.#store.update(job, change);
      if (changed !== undefined) return toWireJob(changed);
    }
  }

  /** Another owner's job must look exactly like one that does not exist. */
  async #find(owner: string, jobId: string): Promise<StoredJob> {
    const job = await this.#store.get(parseJobId(jobId));
    if (job === undefined || job.owner !== owner) throw new TalariaError('job_not_found');
    return job;
  }
}
