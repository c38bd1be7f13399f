/** Numbers and times as people read them. */

const NUMBER = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** `0:42`, `3:07`, `2:05:09`, `4 d 3 h`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  const tail = `${two(whole % 60)}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${tail}` : `${minutes}:${tail}`;
}

/** `12 s`, `5 min`, `3 h`, `2 d`: how long ago, in its largest unit. */
export function age(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h`;
  return `${Math.floor(whole / 86_400)} d`;
}

export function count(value: number): string {
  return NUMBER.format(value);
}

/** `512 B`, `2.1 KB`, `30 MB`. */
export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  const unit = Math.min(4, Math.floor(Math.log10(size) / 3));
  const value = size / 1000 ** unit;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${['B', 'KB', 'MB', 'GB', 'TB'][unit]}`;
}

/** Small sums keep two digits that say something. */
export function money(dollars: number): string {
  return `$${dollars >= 1 || dollars === 0 ? dollars.toFixed(2) : dollars.toPrecision(2)}`;
}

export function moment(epochSeconds: number): string {
  return MOMENT.format(epochSeconds * 1000);
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
