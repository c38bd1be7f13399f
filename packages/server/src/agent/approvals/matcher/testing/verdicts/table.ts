/**
 * Rows of the verdict tables: a command and what must become of it. For `ask` the keys are exact, in order.
 */
import type { Family, NeverReason } from '../../families.ts';

export interface Row {
  command: string;
  expected: 'allow' | { never: NeverReason } | { ask: Family[] };
}

export const allow = (commands: string[]): Row[] =>
  commands.map((command) => ({ command, expected: 'allow' }));

export const never = (reason: NeverReason, commands: string[]): Row[] =>
  commands.map((command) => ({ command, expected: { never: reason } }));

export const ask = (keys: Family[], commands: string[]): Row[] =>
  commands.map((command) => ({ command, expected: { ask: keys } }));
