import type { StoredJob } from '../journal/jobs.ts';

/**
 * Starts a run for the job as it was read, and has the job due at `nextRunAt` after it; undefined leaves that as it is.
 * The id of the run; undefined when the job is not that one any more. Rejects when no run can be created now.
 */
export type StartJobRun = (job: StoredJob, nextRunAt?: number | null) => Promise<string | undefined>;
