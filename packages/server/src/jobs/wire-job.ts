/** A job as clients see it (PROTOCOL.md). */
import type { Job } from '@talaria/protocol';
import type { StoredJob } from '../journal/jobs.ts';

export function toWireJob(job: StoredJob): Job {
  const enabled = job.pausedAt === null;
  return {
    id: job.jobId,
    name: job.name,
    prompt: job.prompt,
    skills: [...job.skills],
    schedule: job.schedule,
    schedule_display: job.schedule.display,
    timezone: job.timezone,
    repeat: { times: job.times, completed: job.completed },
    enabled,
    state: enabled ? 'scheduled' : 'paused',
    paused_at: toIso(job.pausedAt),
    paused_reason: job.pausedReason,
    created_at: new Date(job.createdAt).toISOString(),
    next_run_at: toIso(job.nextRunAt),
    last_run_at: toIso(job.lastRunAt),
    last_run_id: job.lastRunId,
    last_status: job.lastStatus,
    last_error: job.lastError,
    last_skipped_at: toIso(job.lastSkippedAt),
    deliver: job.deliver,
    retention_seconds: job.retentionSeconds,
  };
}

function toIso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
