/** `0.1 s`, `12.4 s`, `3:07`: how long something took. */
import { duration } from '../../ui/format.ts';

export function seconds(value: number): string {
  return value < 60 ? `${value.toFixed(1)} s` : duration(value);
}
