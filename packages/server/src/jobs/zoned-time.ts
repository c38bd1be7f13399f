/**
 * The instant a written time means. Without an offset it is a wall-clock time of the time zone; one that exists twice
 * is the first, one that does not exist is when the clock has jumped, as for cron (plan.ts).
 */
import { Cron } from 'croner';

const TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?\s?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** More than any zone is away from UTC. */
const DAY_MS = 24 * 3600 * 1000;

/** Undefined when the text is no ISO 8601 time, or none that there is. Seconds are the finest it knows. */
export function instantOf(text: string, timezone: string): number | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = '00', minute = '00', second = '00', offset] = match;
  const date = Date.UTC(Number(year), Number(month) - 1, Number(day));
  // A date that is none (30 February) would be taken for one that is.
  if (new Date(date).toISOString().slice(0, 10) !== `${year}-${month}-${day}`) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (offset !== undefined) return withOffset(`${year}-${month}-${day}T${hour}:${minute}:${second}`, offset);
  // A cron of exactly this date, since a search in a zone is what croner does well.
  const fields = [second, minute, hour, day, month, '*', year].map((field) =>
    field === '*' ? '*' : Number(field),
  );
  const cron = new Cron(fields.join(' '), { timezone, mode: '7-part' });
  return cron.nextRun(new Date(date - 2 * DAY_MS))?.getTime();
}

function withOffset(time: string, offset: string): number | undefined {
  const zone = offset.toUpperCase() === 'Z' ? 'Z' : offset.replace(/^(...):?(..)$/, '$1:$2');
  const at = Date.parse(time + zone);
  return Number.isNaN(at) ? undefined : at;
}
