/** Which failures may pass by themselves, and how long to wait before a retry. */
import { RETRYABLE_CODES } from '@talaria/protocol';
import { sleep } from './abort.ts';
import { APIError, ConnectionError, StreamInterruptedError } from './errors.ts';

const BASE_MS = 500;
const MAX_MS = 8_000;

/** When a server asks for a longer wait, the client gives up: the caller should know and decide. */
const RETRY_AFTER_MAX_MS = 60_000;

/** Whether the same request may succeed later. It does not say whether the server carried out this one. */
export function isTransient(error: unknown): error is ConnectionError | APIError {
  if (error instanceof APIError) {
    // The error is the run's own failure, and a failed run stays failed.
    if (error.headers.get('x-should-retry') === 'false') return false;
    return error.status === 408 || error.status === 429 || error.status >= 500;
  }
  return error instanceof ConnectionError && !(error instanceof StreamInterruptedError);
}

/** The server says that it did not begin: a retry cannot do anything twice. */
export function wasRefused(error: unknown): boolean {
  if (!(error instanceof APIError)) return false;
  const codes: readonly string[] = RETRYABLE_CODES;
  return error.status === 429 || codes.includes(error.code ?? '');
}

/** Undefined when the wait is too long. */
export function retryDelayMs(error: unknown, retries: number): number | undefined {
  const asked = retryAfterMs(error);
  if (asked === undefined) return backoffMs(retries, BASE_MS, MAX_MS);
  return asked > RETRY_AFTER_MAX_MS ? undefined : asked;
}

/** Retries until it succeeds, fails for a reason that does not pass, or the signal aborts. */
export async function insist<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      await sleep(retryDelayMs(error, retries) ?? RETRY_AFTER_MAX_MS, signal);
    }
  }
}

/**
 * Doubles with each attempt. Half of it is random, so that the clients of a restarted server do not all come back at
 * once.
 */
export function backoffMs(retries: number, baseMs: number, maxMs: number, chance = Math.random()): number {
  return Math.min(maxMs, baseMs * 2 ** retries) * (0.5 + chance / 2);
}

/** The delay in `Retry-After`: seconds, or a date. */
export function retryAfterMs(error: unknown, now = Date.now()): number | undefined {
  const header = error instanceof APIError ? error.headers.get('retry-after') : null;
  if (header === null || header.trim() === '') return undefined;
  const ms = Number.isNaN(Number(header)) ? Date.parse(header) - now : Number(header) * 1000;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
