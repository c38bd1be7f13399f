/**
 * The instant of a written time. Without an offset it is a wall-clock time of the time zone. Of a time that exists
 * twice it is the first; for one that does not exist it is when the clock has jumped, as for cron (plan.ts).
 */
import { Cron } from 'croner';

/** There was no year 0, and croner knows none. */
const TIME =
  /^((?!0000)\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** More than any zone is away from UTC. */
const TWO_DAYS_MS = 2 * 24 * 3600 * 1000;

/** Undefined when the text is not an ISO 8601 time, or the time does not exist. */
export function instantOf(text: string, timezone: string): number | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, date = '', time = '00:00', second = '00', fraction = '0', offset] = match;
  const written = `${date}T${time}:${second}`;
  const asUtc = Date.parse(`${written}Z`);
  // A date that does not exist (30 February) would be read as another one.
  if (Number.isNaN(asUtc) || !new Date(asUtc).toISOString().startsWith(written)) return undefined;
  const at = offset === undefined ? inZone(asUtc, timezone) : Date.parse(written + withColon(offset));
  return at === undefined || Number.isNaN(at) ? undefined : at + Math.floor(Number(`0.${fraction}`) * 1000);
}

/** For the wall-clock time that UTC has at `asUtc`: a cron of exactly that time, because croner knows the zones. */
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
