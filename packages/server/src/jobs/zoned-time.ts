/**
 * The instant a written time means. Without an offset it is a wall-clock time of the time zone; one that exists twice
 * is the first, one that does not exist is when the clock has jumped, as for cron (plan.ts).
 */
import { Cron } from 'croner';

/** There was no year 0, and croner knows none. */
const TIME =
  /^((?!0000)\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** More than any zone is away from UTC. */
const TWO_DAYS_MS = 2 * 24 * 3600 * 1000;

/** Undefined when the text is no ISO 8601 time, or none that there is. */
export function instantOf(text: string, timezone: string): number | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, date = '', time = '00:00', second = '00', fraction = '0', offset] = match;
  const written = `${date}T${time}:${second}`;
  const asUtc = Date.parse(`${written}Z`);
  // A date that is none (30 February) would be taken for one that is.
  if (Number.isNaN(asUtc) || !new Date(asUtc).toISOString().startsWith(written)) return undefined;
  const at = offset === undefined ? inZone(asUtc, timezone) : Date.parse(written + withColon(offset));
  return at === undefined || Number.isNaN(at) ? undefined : at + Math.floor(Number(`0.${fraction}`) * 1000);
}

/** Of the wall-clock time that UTC has at `asUtc`: a cron of exactly that time, since croner knows the zones. */
function inZone(asUtc: number, timezone: string): number | undefined {
  const wall = new Date(asUtc);
  const fields = [
    wall.getUTCSeconds(),
    wall.getUTCMinutes(),
    wall.getUTCHours(),
    wall.getUTCDate(),
    wall.getUTCMonth() + 1,
    '*',
    wall.getUTCFullYear(),
  ];
  const cron = new Cron(fields.join(' '), { timezone, mode: '7-part' });
  return cron.nextRun(new Date(asUtc - TWO_DAYS_MS))?.getTime();
}

function withColon(offset: string): string {
  return offset.replace(/^([+-]\d\d):?(\d\d)$/, '$1:$2').toUpperCase();
}
