/** When a job will run, as the server computes it: an interval counts from its planned time, cron in the job's zone. */
import type { Job } from '@talaria/client';
import { Cron } from 'croner';

const SHOWN = 5;
const MINUTE_MS = 60_000;

/** At most five times, in ms; none for a paused job. */
export function firingsOf(job: Job): readonly number[] {
  if (job.next_run_at === null || !job.enabled) return [];
  const first = Date.parse(job.next_run_at);
  const left = job.repeat.times === null ? SHOWN : Math.min(SHOWN, job.repeat.times - job.repeat.completed);
  const { schedule } = job;
  const times = [first];
  while (times.length < left && schedule.kind !== 'once') {
    const last = times.at(-1)!;
    const next =
      schedule.kind === 'interval'
        ? last + schedule.minutes * MINUTE_MS
        : cronAfter(schedule.expr, job.timezone, last);
    if (next === undefined) break;
    times.push(next);
  }
  return times;
}

/** In the zone of the job, which may not be that of the reader. */
export function inZone(ms: number, timezone: string | undefined): string {
  return new Intl.DateTimeFormat(undefined, {
    dateStyle: 'medium',
    timeStyle: 'short',
    ...(timezone === undefined ? {} : { timeZone: timezone }),
  }).format(ms);
}

function cronAfter(expr: string, timezone: string | undefined, after: number): number | undefined {
  try {
    const cron = new Cron(expr, { mode: '5-part', ...(timezone === undefined ? {} : { timezone }) });
    return cron.nextRun(new Date(after))?.getTime();
  } catch {
    // Another server may know schedules that croner does not.
    return undefined;
  }
}
