/** Times for people. */

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** How long ago, in its largest unit: `12s`, `5m`, `3h`, `2d`. */
export function age(sinceS: number, nowMs: number = Date.now()): string {
  const seconds = Math.max(0, Math.floor(nowMs / 1000 - sinceS));
  if (seconds < MINUTE_S) return `${seconds}s`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)}m`;
  if (seconds < 2 * DAY_S) return `${Math.floor(seconds / HOUR_S)}h`;
  return `${Math.floor(seconds / DAY_S)}d`;
}

/** How long it took: `0.3s`, `42s`, `3m 04s`, `2h 05m`. */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE_S) return `${whole}s`;
  if (whole < HOUR_S) return `${Math.floor(whole / MINUTE_S)}m ${twoDigits(whole % MINUTE_S)}s`;
  return `${Math.floor(whole / HOUR_S)}h ${twoDigits(Math.floor((whole % HOUR_S) / MINUTE_S))}m`;
}

/** How long it has taken so far, in whole seconds: a running counter should not flicker. */
export function elapsed(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  return whole < MINUTE_S ? `${whole}s` : duration(whole);
}

/** A point in time, in this machine's own: `2026-03-01 14:05:09`. */
export function localTime(date: Date): string {
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')}`;
}

/** The same with the zone, for times that were given in another one: `2026-03-01 14:05:09 GMT+1`. */
export function localTimeInZone(date: Date): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(date);
  return `${localTime(date)} ${parts.find(({ type }) => type === 'timeZoneName')!.value}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}
