/** Reads single fields of a JSON body, for all requests. */
import { TalariaError } from './errors.ts';

export function parseObject(body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new TalariaError('body_not_object');
  }
  return body as Record<string, unknown>;
}

export function optionalString(fields: Record<string, unknown>, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw invalid(name, `'${name}' must be a string`);
  return value;
}

export function optionalFlag(fields: Record<string, unknown>, name: string): boolean {
  const value = fields[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw invalid(name, `'${name}' must be true or false`);
  return value;
}

export function invalid(param: string, message: string): TalariaError {
  return new TalariaError('invalid_request', { message, param });
}
