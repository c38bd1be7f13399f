/**
 * When a job runs. Pure functions of its schedule, its time zone and the time.
 *
 * - An interval counts from the planned time, not from when the run began or ended: it does not drift.
 * - Times that passed while nobody looked (the server was down, the clock was set forward) fire once, not many times.
 * - Cron times are wall-clock times of the job's zone. When the clock is set forward, a schedule with several times a
 *   day (a list, range, step or star in minute or hour) skips times that do not exist; a schedule with a single time a
 *   day fires when the clock has jumped. When the clock is set back, a time that exists twice fires both times for the
 *   former and the first time for the latter. (These are croner's rules; the tests check them.)
 */
import type { JobSchedule } from '@talaria/protocol';
import { Cron } from 'croner';

const MINUTE_MS = 60_000;

/** The first run of a job that is scheduled now. A `once` job keeps its time, even if that is in the past. */
export function nextRunOf(schedule: JobSchedule, timezone: string, now: number): number | null {
  switch (schedule.kind) {
    case 'once':
      return Date.parse(schedule.run_at);
    case 'interval':
      return now + schedule.minutes * MINUTE_MS;
    case 'cron':
      return nextMatch(schedule.expr, timezone, now);
  }
}

/** The run after the one that was planned for `planned` and is due now. */
export function runAfter(
  schedule: JobSchedule,
  timezone: string,
  planned: number,
  now: number,
): number | null {
  switch (schedule.kind) {
    case 'once':
      return null;
    case 'interval': {
      const stepMs = schedule.minutes * MINUTE_MS;
      const steps = Math.floor(Math.max(0, now - planned) / stepMs) + 1;
      return planned + steps * stepMs;
    }
    case 'cron':
      return nextMatch(schedule.expr, timezone, Math.max(planned, now));
  }
}

/**
 * The plan, corrected after the clock was set back (a plan made under a wrong clock may be years away) or after the
 * rules of a time zone changed. A correct plan is returned unchanged.
 */
export function correctedPlan(
  schedule: JobSchedule,
  timezone: string,
  planned: number,
  now: number,
): number | null {
  if (planned <= now) return planned;
  switch (schedule.kind) {
    case 'once':
      return planned;
    case 'interval':
      return Math.min(planned, now + schedule.minutes * MINUTE_MS);
    case 'cron':
      return nextMatch(schedule.expr, timezone, now);
  }
}

/**
 * The first time after `after` that matches five fields of cron, or null when none ever does; throws when they are not
 * valid cron.
 */
export function nextMatch(expr: string, timezone: string, after: number): number | null {
  const cron = new Cron(expr, { timezone, mode: '5-part' });
  return cron.nextRun(new Date(after))?.getTime() ?? null;
}
