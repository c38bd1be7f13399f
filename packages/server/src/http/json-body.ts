/**
 * Reads a request's body as JSON. Bodies arrive as bytes whatever their content type says, as the reference
 * server takes them, and are parsed by the route that wants them: a route that ignores its body (stop) must
 * not refuse a broken one.
 */
import { TalariaError } from '@talaria/protocol';

/** Deeper values serve no client and would overflow the stack of whoever walks them. */
const DEPTH_MAX = 100;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function parseJsonBody(body: unknown): unknown {
  let value: unknown;
  try {
    value = JSON.parse(body instanceof Uint8Array ? utf8.decode(body) : '');
  } catch {
    throw new TalariaError('invalid_json');
  }
  if (isDeeperThan(value, DEPTH_MAX)) {
    throw new TalariaError('invalid_json', {
      message: `The request body is nested deeper than ${DEPTH_MAX} levels`,
    });
  }
  return value;
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  return Object.values(value).some((entry) => isDeeperThan(entry, depth - 1));
}
