/** Checking what came over a connection: each takes anything and gives back what it should be, or throws. */
import { ProtocolError } from './frames.ts';

export type Check<T> = (value: unknown) => T;

/** One check per key, so that a key added to a type is an error here until it is checked too. Other keys are left out. */
export function shape<T extends object>(checks: { [Key in keyof T]-?: Check<T[Key]> }): Check<T> {
  return (value) => {
    const given = object(value);
    const checked = Object.entries<Check<unknown>>(checks)
      .map(([key, check]) => [key, check(given[key])] as const)
      .filter(([, content]) => content !== undefined);
    return Object.fromEntries(checked) as T;
  };
}

export function object(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new ProtocolError('something else stands where an object should');
}

export function string(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new ProtocolError('a text is missing');
}

export function boolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ProtocolError('a yes or no is missing');
}

export function number(value: unknown): number {
  if (typeof value === 'number') return value;
  throw new ProtocolError('a number is missing');
}

export function integer(value: unknown): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new ProtocolError('a whole number is missing');
}

export function oneOf<T extends string>(words: Readonly<Record<T, true>>): Check<T> {
  return (value) => {
    if (typeof value === 'string' && Object.hasOwn(words, value)) return value as T;
    throw new ProtocolError('a word is none of those that are known');
  };
}

export function listOf<T>(check: Check<T>): Check<T[]> {
  return (value) => {
    if (Array.isArray(value)) return value.map(check);
    throw new ProtocolError('something else stands where a list should');
  };
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value) => (value === undefined || value === null ? undefined : check(value));
}
