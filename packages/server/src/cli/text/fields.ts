/** Names and values below each other. */
import type { Style } from '../style.ts';

export type Field = readonly [name: string, value: string];

/** Undefined values are left out. */
export function fields(given: readonly (Field | undefined)[], { faint }: Style): string[] {
  const shown = given.filter((field) => field !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length)) + 2;
  return shown.map(([name, value]) => faint(name.padEnd(width)) + value);
}
