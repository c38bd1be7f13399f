/**
 * Reads the bodies of `/api/jobs`, as requests.ts reads those of runs. A schedule is passed on as text: its meaning
 * depends on a clock and a time zone, which the server has.
 *
 * A null field counts as absent, except `repeat` and `retention_seconds` in a change: there it removes the limit, or the job's
 * own retention.
 */
import { TalariaError } from './errors.ts';
import { invalid, optionalString, parseObject } from './fields.ts';

export interface CreateJob {
  name: string;
  schedule: string;
  prompt: string;
  skills: string[];
  deliver: string;
  /** Null means forever. */
  repeat: number | null;
  timezone: string | undefined;
  /** How long its runs are kept; null means as long as the server keeps others. */
  retentionSeconds: number | null;
}

/** An undefined field stays unchanged. */
export type UpdateJob = { [Field in keyof CreateJob]?: CreateJob[Field] | undefined } & {
  enabled?: boolean | undefined;
};

const NAME_MAX = 200;
const PROMPT_MAX = 50_000;
const SCHEDULE_MAX = 200;
const SKILLS_MAX = 50;
const SKILL_MAX = 200;
const DELIVER_MAX = 200;
const REASON_MAX = 500;
/** Ten years, which is the most that the server's own setting allows. */
const RETENTION_MAX_SECONDS = 315_360_000;
const REPEAT_MAX = 1_000_000_000;

const JOB_ID = /^[0-9a-f]{12}$/;

/** Accepts twelve hex digits, and refuses anything else. */
export function parseJobId(value: string): string {
  if (!JOB_ID.test(value)) throw new TalariaError('invalid_job_id');
  return value;
}

export function parseCreateJob(body: unknown): CreateJob {
  const fields = parseObject(body);
  const name = parseName(fields.name);
  const schedule = parseScheduleText(fields.schedule);
  return {
    name,
    schedule,
    prompt: boundedString(fields, 'prompt', PROMPT_MAX) ?? '',
    skills: parseSkills(fields) ?? [],
    deliver: boundedString(fields, 'deliver', DELIVER_MAX) || 'local',
    repeat: parseRepeat(fields) ?? null,
    timezone: parseTimezone(fields),
    retentionSeconds: parseRetention(fields) ?? null,
  };
}

export function parseUpdateJob(body: unknown): UpdateJob {
  const fields = parseObject(body);
  return {
    name: isGiven(fields.name) ? parseName(fields.name) : undefined,
    schedule: isGiven(fields.schedule) ? parseScheduleText(fields.schedule) : undefined,
    prompt: boundedString(fields, 'prompt', PROMPT_MAX),
    skills: parseSkills(fields),
    deliver: boundedString(fields, 'deliver', DELIVER_MAX),
    repeat: parseRepeat(fields),
    timezone: parseTimezone(fields),
    retentionSeconds: parseRetention(fields),
    enabled: parseEnabled(fields),
  };
}

/** The reason for a pause, if the request gives one. */
export function parsePauseReason(body: unknown): string | undefined {
  return boundedString(parseObject(body), 'reason', REASON_MAX) || undefined;
}

function parseName(value: unknown): string {
  if (isBlank(value)) throw new TalariaError('missing_job_name', { param: 'name' });
  if (typeof value !== 'string') throw invalid('name', "'name' must be a string");
  const name = value.trim();
  if (name.length > NAME_MAX || /\p{Cc}/u.test(name)) {
    throw invalid('name', `'name' must have at most ${NAME_MAX} characters and no control characters`);
  }
  return name;
}

function parseScheduleText(value: unknown): string {
  if (isBlank(value)) throw new TalariaError('missing_schedule', { param: 'schedule' });
  if (typeof value !== 'string') throw invalid('schedule', "'schedule' must be a string");
  const schedule = value.trim();
  if (schedule.length > SCHEDULE_MAX) {
    throw invalid('schedule', `'schedule' must have at most ${SCHEDULE_MAX} characters`);
  }
  return schedule;
}

function parseSkills(fields: Record<string, unknown>): string[] | undefined {
  const { skills } = fields;
  if (!isGiven(skills)) return undefined;
  const isList = Array.isArray(skills) && skills.length <= SKILLS_MAX;
  if (!isList || !skills.every((skill) => typeof skill === 'string' && skill.length <= SKILL_MAX)) {
    throw invalid(
      'skills',
      `'skills' must be an array of at most ${SKILLS_MAX} names of at most ${SKILL_MAX} characters`,
    );
  }
  return skills as string[];
}

/**
 * Also accepts the form in which a job shows it, `{"times": 3, "completed": 1}`, for clients that send back what they
 * got.
 */
function parseRepeat({ repeat }: Record<string, unknown>): number | null | undefined {
  if (repeat === undefined || repeat === null) return repeat;
  const times = typeof repeat === 'object' && 'times' in repeat ? repeat.times : repeat;
  if (times === null) return null;
  if (!Number.isInteger(times) || Number(times) < 1 || Number(times) > REPEAT_MAX) {
    throw invalid('repeat', "'repeat' must be a positive whole number, or null for no limit");
  }
  return Number(times);
}

function parseRetention(fields: Record<string, unknown>): number | null | undefined {
  const seconds = fields.retention_seconds;
  if (seconds === undefined || seconds === null) return seconds;
  if (!Number.isInteger(seconds) || Number(seconds) < 1 || Number(seconds) > RETENTION_MAX_SECONDS) {
    throw invalid(
      'retention_seconds',
      `'retention_seconds' must be a whole number from 1 to ${RETENTION_MAX_SECONDS}, or null for as long as the server keeps runs`,
    );
  }
  return Number(seconds);
}

function parseTimezone(fields: Record<string, unknown>): string | undefined {
  const { timezone } = fields;
  if (!isGiven(timezone)) return undefined;
  if (typeof timezone !== 'string' || !isTimeZone(timezone)) {
    throw invalid('timezone', "'timezone' must be the name of a time zone, such as Europe/Berlin or UTC");
  }
  return timezone;
}

function parseEnabled({ enabled }: Record<string, unknown>): boolean | undefined {
  if (!isGiven(enabled)) return undefined;
  if (typeof enabled !== 'boolean') throw invalid('enabled', "'enabled' must be true or false");
  return enabled;
}

/**
 * A name from the time zone database. An offset such as `+02:00` is not accepted, because it has no daylight saving
 * time.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function boundedString(fields: Record<string, unknown>, name: string, maxChars: number): string | undefined {
  const value = optionalString(fields, name);
  if (value !== undefined && value.length > maxChars) {
    throw invalid(name, `'${name}' must have at most ${maxChars} characters`);
  }
  // Postgres cannot store it in a text, and nobody needs it.
  if (value?.includes('\0')) throw invalid(name, `'${name}' must not contain the character U+0000`);
  return value;
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
