import { TalariaError } from '@talaria/protocol';

const LIMIT_MAX = 200;
const LIMIT_DEFAULT = 50;
const EPOCH_SECONDS_MAX = 99_999_999_999;

/** A query parameter that may be given at most once; an empty one counts as absent. */
export function single(query: unknown, name: string): string | undefined {
  const value = (query as Record<string, unknown>)[name];
  if (value === undefined || typeof value === 'string') return value === '' ? undefined : value;
  throw new TalariaError('invalid_request', { message: `'${name}' must be given only once`, param: name });
}

/** Whether a parameter has a value. */
export function isGiven(query: unknown, name: string): boolean {
  const value = (query as Record<string, unknown>)[name];
  return value !== undefined && value !== '';
}

/** The number of an event, or -1 for the time before the first one. */
export function eventSeq(query: unknown, name: string): number | undefined {
  const value = single(query, name);
  if (value === undefined) return undefined;
  if (/^(\d{1,15}|-1)$/.test(value)) return Number(value);
  const message = `'${name}' must be the number of an event (its seq), or -1 for the start of the run`;
  throw new TalariaError('invalid_cursor', { message, param: name });
}

/** The maximum number of entries per page. */
export function pageLimit(query: unknown, max: number = LIMIT_MAX): number {
  const value = single(query, 'limit');
  if (value === undefined) return LIMIT_DEFAULT;
  const limit = /^\d{1,4}$/.test(value) ? Number(value) : 0;
  if (limit < 1 || limit > max) {
    const message = `'limit' must be a whole number from 1 to ${max}`;
    throw new TalariaError('invalid_request', { message, param: 'limit' });
  }
  return limit;
}

/** A boolean, in the spellings that clients use. */
export function flag(query: unknown, name: string): boolean {
  const value = single(query, name)?.toLowerCase();
  if (value === undefined || value === 'false' || value === '0') return false;
  if (value === 'true' || value === '1') return true;
  throw new TalariaError('invalid_request', { message: `'${name}' must be true or false`, param: name });
}

/** A count; undefined if the request has none. */
export function count(query: unknown, name: string, max: number): number | undefined {
  const value = single(query, name);
  if (value === undefined) return undefined;
  const number = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && number <= max) return number;
  const message = `'${name}' must be a whole number from 1 to ${max}`;
  throw new TalariaError('invalid_request', { message, param: name });
}

/** Reads a time in seconds since the epoch, also fractional; returns milliseconds. */
export function epochSeconds(query: unknown, name: string): number | undefined {
  const value = single(query, name);
  if (value === undefined) return undefined;
  // In any form that JSON has for a number.
  if (/^\d{1,30}(\.\d{1,30})?(e[+-]?\d{1,3})?$/i.test(value) && Number(value) <= EPOCH_SECONDS_MAX) {
    return Math.ceil(Number(value) * 1000);
  }
  const message = `'${name}' must be a time in seconds since the epoch`;
  throw new TalariaError('invalid_request', { message, param: name });
}
