/**
 * Reads a schedule as people write it. One of:
 *
 *   30m | 2h | 1d                 once, that long from now
 *   2031-02-03T14:00:00+01:00     once, at that time; without an offset it is a time of the job's time zone
 *   every 30m                     again and again, that far apart
 *   0 9 * * 1-5                   cron: minute, hour, day of month, month, day of week, in the job's time zone
 *
 * Pure: everything it depends on is a parameter.
 */
import { type JobSchedule, TalariaError } from '@talaria/protocol';
import { CronPattern } from 'croner';
import { nextRunOf } from './plan.ts';
import { instantOf } from './zoned-time.ts';

const MINUTE_MS = 60_000;
const UNIT_MINUTES = { m: 1, h: 60, d: 1440 };
/** Ten years: longer ones are mistakes, and every time stays within the range of a date. */
const MINUTES_MAX = 5_256_000;
const SHOWN_CHARS = 60;

const ACCEPTED_SCHEDULES =
  "a duration from now ('30m', '2h' or '1d'), a time ('2031-02-03T14:00:00Z'), an interval ('every 30m'), " +
  "or five fields of cron ('0 9 * * 1-5')";

export function parseSchedule(text: string, timezone: string, now: number): JobSchedule {
  const schedule =
    readDuration(text, now) ?? readInterval(text) ?? readTime(text, timezone) ?? readCron(text);
  if (schedule === undefined) throw refused(text, 'it is none of these');
  const first = nextRunOf(schedule, timezone, now);
  if (first === null) throw refused(text, 'it never comes');
  if (first <= now) throw refused(text, 'it is in the past');
  return schedule;
}

function readDuration(text: string, now: number): JobSchedule | undefined {
  const minutes = readMinutes(text, text);
  if (minutes === undefined) return undefined;
  const runAt = new Date(now + minutes * MINUTE_MS).toISOString();
  return { kind: 'once', run_at: runAt, display: `once in ${text}` };
}

function readInterval(text: string): JobSchedule | undefined {
  const span = /^every\s+(.+)$/i.exec(text)?.[1];
  const minutes = span === undefined ? undefined : readMinutes(span, text);
  return minutes === undefined ? undefined : { kind: 'interval', minutes, display: `every ${span}` };
}

/** `30m`, also `30 minutes`. */
function readMinutes(span: string, text: string): number | undefined {
  const match = /^(\d{1,9})\s*(m|min|mins|minutes?|h|hrs?|hours?|d|days?)$/i.exec(span);
  if (match === null) return undefined;
  const unit = match[2]!.charAt(0).toLowerCase() as keyof typeof UNIT_MINUTES;
  const minutes = Number(match[1]) * UNIT_MINUTES[unit];
  if (minutes < 1 || minutes > MINUTES_MAX) throw refused(text, 'it must be from 1 minute to 3650 days');
  return minutes;
}

function readTime(text: string, timezone: string): JobSchedule | undefined {
  if (!/^\d{4}-\d\d-\d\d/.test(text)) return undefined;
  const at = instantOf(text, timezone);
  if (at === undefined) throw refused(text, 'there is no such time');
  return { kind: 'once', run_at: new Date(at).toISOString(), display: `once at ${text}` };
}

function readCron(text: string): JobSchedule | undefined {
  const fields = text.split(/\s+/);
  if (fields.length !== 5) return undefined;
  const expr = fields.join(' ');
  try {
    new CronPattern(expr, undefined, { mode: '5-part' });
  } catch (error) {
    throw refused(text, (error as Error).message.replace(/^CronPattern: /, ''));
  }
  return { kind: 'cron', expr, display: expr };
}

function refused(text: string, why: string): TalariaError {
  const shown = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
  return new TalariaError('invalid_schedule', {
    message: `Invalid schedule '${shown}': ${why}. Accepted: ${ACCEPTED_SCHEDULES}`,
    param: 'schedule',
  });
}
