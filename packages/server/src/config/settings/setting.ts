/** What a setting is. The tables beside this file define them; `../settings.ts` composes the tables. */

import type { Kind } from '../kinds/kinds.ts';

export interface Setting<T, D extends T | undefined = T | undefined> {
  readonly env: string;
  readonly key: string;
  readonly kind: Kind<T>;
  readonly default: D;
  /** The default in words, where it is not one value. */
  readonly defaultText?: string;
  readonly group: Group;
  /** One line, no full stop. */
  readonly about: string;
}

export const groups = [
  'Server',
  'Storage',
  'Model',
  'Runs',
  'Jobs',
  'Sandbox and approvals',
  'Slots',
  'Operation',
] as const;
export type Group = (typeof groups)[number];

/** An exabyte, so that bytes stay exact numbers. */
export const MAX_MB = 1_073_741_824;

export function define<T, const D extends T | undefined>(setting: Setting<T, D>): Setting<T, D> {
  return setting;
}
