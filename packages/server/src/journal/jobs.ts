/**
 * The part of the store that keeps jobs: runs that are to be started at certain times.
 *
 * Invariants
 * - A job has a `version` that every change raises. `update`, and the creation of a run for the job (`NewRun.job`), take
 *   the version that was read and do nothing when there is another by now. So of any number of servers that find a job
 *   due, one starts its run; and what was worked out from a job is never written over one that has changed.
 * - A job has at most one unfinished run: a run for a job whose last one is unfinished is refused like one for a job
 *   that has changed.
 * - The creation of the run and what the job shows of it are one transaction. So are the run's terminal record and
 *   what it changes in the job: `lastStatus`, `lastError`, `completed`; a job that has run as often as it may is gone with it.
 * - Deleting a job leaves its runs alone.
 * - The store knows no schedules. It keeps them, and a time: what is due is decided by that time and the store's clock,
 *   so servers whose clocks differ agree.
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
  /** How often it runs before it is deleted; null is for ever. */
  times: number | null;
  nextRunAt: number | null;
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
  >
>;

/** A job as it was read. */
export type JobVersion = Pick<StoredJob, 'jobId' | 'version'>;

/** The job a new run is for. */
export interface JobFiring extends JobVersion {
  /** When the job is due after this; undefined leaves that as it is, for a run beside the schedule. */
  nextRunAt?: number | null | undefined;
}

export interface Agenda {
  /** The store's time, by which the rest was found. */
  now: number;
  /** The longest overdue first. */
  due: StoredJob[];
  /** When the next one after these is due, if any is. */
  nextAt: number | null;
}

export interface Jobs {
  /** Undefined, and nothing is stored, when the owner has `maxJobs` already. */
  create(job: NewJob, maxJobs: number): Promise<StoredJob | undefined>;
  get(jobId: string): Promise<StoredJob | undefined>;
  /** Oldest first. */
  list(owner: string): Promise<StoredJob[]>;
  /** The job after the change; undefined when it is not the one that was read any more. */
  update(read: JobVersion, change: JobChange): Promise<StoredJob | undefined>;
  /** False when there is no such job. */
  delete(jobId: string): Promise<boolean>;

  agenda(limit: number): Promise<Agenda>;
  /** Every job whose time is to come, of all owners. */
  planned(): Promise<StoredJob[]>;
  /** Calls `listener` when a job may be due at another time than before. */
  watch(listener: () => void): () => void;
}

export function isRunning({ lastRunId, lastStatus }: Pick<StoredJob, 'lastRunId' | 'lastStatus'>): boolean {
  return lastRunId !== null && lastStatus === null;
}
