/**
 * What a request changes in a job. Pure. An empty change means that the job is already as requested.
 *
 * A job is due at a time or, while it is paused, never. Its time is computed again when its schedule changes, when a
 * cron job moves to another zone, and when it resumes after a pause. Missed times are not made up for, except that a
 * job that runs once still runs, at once if its time has passed.
 */
import { TalariaError, type UpdateJob } from '@talaria/protocol';
import { isRunning, type JobChange, type StoredJob } from '../journal/jobs.ts';
import { nextRunOf } from './plan.ts';
import { parseSchedule } from './schedule.ts';

export function changeJob(job: StoredJob, update: UpdateJob, now: number): JobChange {
  const { name, prompt, skills, deliver, retentionSeconds } = update;
  return given({ name, prompt, skills, deliver, retentionSeconds, ...changeOfPlan(job, update, now) });
}

export function pauseJob(job: StoredJob, reason: string | undefined, now: number): JobChange {
  if (job.pausedAt !== null) return given({ pausedReason: reason });
  return { pausedAt: now, pausedReason: reason ?? null, nextRunAt: null };
}

function changeOfPlan(job: StoredJob, update: UpdateJob, now: number): JobChange {
  const { schedule: text, enabled } = update;
  const timezone = update.timezone ?? job.timezone;
  const schedule = text === undefined ? job.schedule : parseSchedule(text, timezone, now);
  const wasPaused = job.pausedAt !== null;
  const isPaused = enabled === undefined ? wasPaused : !enabled;
  const moved = schedule.kind === 'cron' && timezone !== job.timezone;
  const planAnew = text !== undefined || moved || wasPaused;
  return {
    ...(text === undefined ? {} : { schedule }),
    ...(timezone === job.timezone ? {} : { timezone }),
    ...(isPaused || !planAnew ? {} : { nextRunAt: nextRunOf(schedule, timezone, now) }),
    ...(isPaused && !wasPaused ? pauseJob(job, undefined, now) : {}),
    ...(!isPaused && wasPaused ? { pausedAt: null, pausedReason: null } : {}),
    ...changeOfTimes(job, schedule.kind, update),
  };
}

function changeOfTimes(job: StoredJob, kind: StoredJob['schedule']['kind'], update: UpdateJob): JobChange {
  const { schedule, repeat } = update;
  if (kind === 'once') {
    if (schedule === undefined) return {};
    // The present run counts as well when it ends, and must not be the last.
    return { times: job.completed + (isRunning(job) ? 1 : 0) + 1 };
  }
  if (repeat === undefined) return job.schedule.kind === 'once' ? { times: null } : {};
  if (repeat !== null && repeat <= job.completed) {
    const message = `'repeat' must be more than ${job.completed}, the number of times the job has run`;
    throw new TalariaError('invalid_request', { message, param: 'repeat' });
  }
  return { times: repeat };
}

type Given<T> = { [Field in keyof T]: Exclude<T[Field], undefined> };

function given<T extends object>(fields: T): Partial<Given<T>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<
    Given<T>
  >;
}
