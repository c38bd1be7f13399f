import { TalariaError } from '@talaria/protocol';

/** A query parameter given at most once; an empty one is none. */
export function single(query: unknown, name: string): string | undefined {
  const value = (query as Record<string, unknown>)[name];
  if (value === undefined || typeof value === 'string') return value === '' ? undefined : value;
  throw new TalariaError('invalid_request', { message: `'${name}' may be given once`, param: name });
}
