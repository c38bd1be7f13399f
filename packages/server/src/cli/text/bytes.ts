/** A size for people: `512 B`, `1.4 kB`, `20 MB`. */
const UNITS = ['kB', 'MB', 'GB', 'TB', 'PB'];

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  let value = count;
  let unit = -1;
  do {
    value /= 1000;
    unit++;
    // Rounding up to 1000 of a unit is one of the next.
  } while (value >= 999.5 && unit < UNITS.length - 1);
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}
