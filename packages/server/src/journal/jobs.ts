/**
 * The part of the store that keeps jobs: runs to be started at certain times.
 *
 * Invariants
 * - A job has a `version` that every change raises. `update`, and the creation of a run for the job (`NewRun.job`), take
 *   the version that was read, and do nothing when there is a newer one. So of any number of servers that find a job
 *   due, one starts its run. And a decision made from a job is never applied to a job that has changed since.
 * - A job has at most one unfinished run: while the last one is unfinished, a new one is refused, as for a job that has
 *   changed.
 * - Creating the run and updating the job's fields about it are one transaction. So are the run's terminal record and
 *   its changes to the job: `lastStatus`, `lastError`, `completed`. A job that has run as often as allowed is deleted
 *   in that transaction.
 * - Deleting a job leaves its runs alone.
 * - The store does not interpret schedules. It stores them, and a time: that time and the store's clock decide what is
 *   due, so servers whose clocks differ agree.
 */
import type { JobSchedule } from '@talaria/protocol';

export interface NewJob {
  jobId: string;
  owner: string;
  name: string;
  prompt: string;
  skills: readonly string[];
  deliver: string;
  schedule: JobSchedule;
  timezone: string;
  /** How often it runs before it is deleted; null means forever. */
  times: number | null;
  nextRunAt: number | null;
  /** How long its runs are kept after their ends; null means as long as the server keeps others. */
  retentionSeconds: number | null;
}

export interface StoredJob extends NewJob {
  version: number;
  createdAt: number;
  /** How many of its runs have ended. */
  completed: number;
  pausedAt: number | null;
  pausedReason: string | null;
  lastRunId: string | null;
  /** When the last run was created. */
  lastRunAt: number | null;
  /** How the last run ended; null before the first and while one is unfinished. */
  lastStatus: 'ok' | 'error' | null;
  lastError: string | null;
  lastSkippedAt: number | null;
}

export type JobChange = Partial<
  Pick<
    StoredJob,
    | 'name'
    | 'prompt'
    | 'skills'
    | 'deliver'
    | 'schedule'
    | 'timezone'
    | 'times'
    | 'nextRunAt'
    | 'pausedAt'
    | 'pausedReason'
    | 'lastSkippedAt'
    | 'retentionSeconds'
  >
>;

/** A job as it was read. */
export type JobVersion = Pick<StoredJob, 'jobId' | 'version'>;

/** The job a new run is for. */
export interface JobFiring extends JobVersion {
  /** When the job is due next; undefined leaves that unchanged, for a run in addition to the schedule. */
  nextRunAt?: number | null | undefined;
}

export interface Agenda {
  /** The store's time that decided what is due. */
  now: number;
  /** The longest overdue first. */
  due: StoredJob[];
  /** When the next one after these is due, if any is. */
  nextAt: number | null;
}

export interface Jobs {
  /** Undefined, and nothing is stored, when the owner already has `maxJobs`. */
  create(job: NewJob, maxJobs: number): Promise<StoredJob | undefined>;
  get(jobId: string): Promise<StoredJob | undefined>;
  /** Oldest first. */
  list(owner: string): Promise<StoredJob[]>;
  /** The job after the change; undefined when it has changed since it was read. */
  update(read: JobVersion, change: JobChange): Promise<StoredJob | undefined>;
  /** False when there is no such job. */
  delete(jobId: string): Promise<boolean>;

  agenda(limit: number): Promise<Agenda>;
  /** Every job with a time in the future, of all owners. */
  planned(): Promise<StoredJob[]>;
  /** Calls `listener` when the time of a job may have changed. */
  watch(listener: () => void): () => void;
}

export function isRunning({ lastRunId, lastStatus }: Pick<StoredJob, 'lastRunId' | 'lastStatus'>): boolean {
  return lastRunId !== null && lastStatus === null;
}
