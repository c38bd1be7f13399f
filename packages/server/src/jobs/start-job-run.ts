import type { StoredJob } from '../journal/jobs.ts';

/**
 * Starts a run for the job as it was read, and makes the job due at `nextRunAt` after it; undefined leaves that
 * unchanged. Returns the id of the run, or undefined when the job has changed since. Rejects when no run can be created
 * now.
 */
export type StartJobRun = (job: StoredJob, nextRunAt?: number | null) => Promise<string | undefined>;
