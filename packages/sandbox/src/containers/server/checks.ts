/** Checks of values from a connection: each takes any value, and returns it with its type, or throws. */
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
  throw unexpected('an object', value);
}

export function string(value: unknown): string {
  if (typeof value === 'string') return value;
  throw unexpected('a string', value);
}

export function boolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw unexpected('a boolean', value);
}

export function number(value: unknown): number {
  if (typeof value === 'number') return value;
  throw unexpected('a number', value);
}

export function integer(value: unknown): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw unexpected('a whole number', value);
}

export function oneOf<T extends string>(words: Readonly<Record<T, true>>): Check<T> {
  return (value) => {
    if (typeof value === 'string' && Object.hasOwn(words, value)) return value as T;
    throw unexpected(`one of ${Object.keys(words).join(', ')}`, value);
  };
}

export function listOf<T>(check: Check<T>): Check<T[]> {
  return (value) => {
    if (Array.isArray(value)) return value.map(check);
    throw unexpected('a list', value);
  };
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value) => (value === undefined || value === null ? undefined : check(value));
}

/** Names the kind of the value and not its content: commands may have made it. */
function unexpected(expected: string, value: unknown): ProtocolError {
  const came =
    value == null ? 'nothing' : Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
  return new ProtocolError(`expected ${expected}, got ${came}`);
}
