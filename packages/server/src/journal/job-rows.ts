/** Rows of jobs and what they stand for. */
import type { JobChange, StoredJob } from './jobs.ts';

export interface JobRow {
  n: number;
  job_id: string;
  owner: string;
  version: number;
  name: string;
  prompt: string;
  skills: string;
  deliver: string;
  schedule: string;
  timezone: string;
  times: number | null;
  completed: number;
  created_at: number;
  paused_at: number | null;
  paused_reason: string | null;
  next_run_at: number | null;
  last_run_id: string | null;
  last_run_at: number | null;
  last_status: 'ok' | 'error' | null;
  last_error: string | null;
  last_skipped_at: number | null;
  retention_seconds: number | null;
}

export function toStoredJob(row: JobRow): StoredJob {
  return {
    jobId: row.job_id,
    owner: row.owner,
    version: row.version,
    name: row.name,
    prompt: row.prompt,
    skills: JSON.parse(row.skills) as string[],
    deliver: row.deliver,
    schedule: JSON.parse(row.schedule) as StoredJob['schedule'],
    timezone: row.timezone,
    times: row.times,
    completed: row.completed,
    createdAt: row.created_at,
    pausedAt: row.paused_at,
    pausedReason: row.paused_reason,
    nextRunAt: row.next_run_at,
    lastRunId: row.last_run_id,
    lastRunAt: row.last_run_at,
    lastStatus: row.last_status,
    lastError: row.last_error,
    lastSkippedAt: row.last_skipped_at,
    retentionSeconds: row.retention_seconds,
  };
}

const COLUMNS: Record<keyof JobChange, keyof JobRow> = {
  name: 'name',
  prompt: 'prompt',
  skills: 'skills',
  deliver: 'deliver',
  schedule: 'schedule',
  timezone: 'timezone',
  times: 'times',
  nextRunAt: 'next_run_at',
  pausedAt: 'paused_at',
  pausedReason: 'paused_reason',
  lastSkippedAt: 'last_skipped_at',
  retentionSeconds: 'retention_seconds',
};

type Column = [name: keyof JobRow, value: string | number | null];

/** The columns a change sets. */
export function toColumns(change: JobChange): Column[] {
  return (Object.keys(change) as (keyof JobChange)[]).flatMap((name): Column[] => {
    const value = change[name];
    if (value === undefined) return [];
    return [[COLUMNS[name], typeof value === 'object' && value !== null ? JSON.stringify(value) : value]];
  });
}
