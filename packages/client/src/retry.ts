/** Which failures may pass by themselves, and how long to wait before finding out. */
import { RETRYABLE_CODES } from '@talaria/protocol';
import { sleep } from './abort.ts';
import { APIError, ConnectionError, StreamInterruptedError } from './errors.ts';

const BASE_MS = 500;
const MAX_MS = 8_000;

/** A server that asks for more than this is not waited for: the caller should know, and decide. */
const RETRY_AFTER_MAX_MS = 60_000;

/** The same request may succeed later. It says nothing of whether this one was carried out. */
export function isTransient(error: unknown): error is ConnectionError | APIError {
  if (error instanceof APIError) {
    // The answer is a run's, and a failed run stays one.
    if (error.headers.get('x-should-retry') === 'false') return false;
    return error.status === 408 || error.status === 429 || error.status >= 500;
  }
  return error instanceof ConnectionError && !(error instanceof StreamInterruptedError);
}

/** The server says that it did not even begin: a repetition cannot do anything twice. */
export function wasRefused(error: unknown): boolean {
  if (!(error instanceof APIError)) return false;
  const codes: readonly string[] = RETRYABLE_CODES;
  return error.status === 429 || codes.includes(error.code ?? '');
}

/** Undefined when it is too long to wait. */
export function retryDelayMs(error: unknown, retries: number): number | undefined {
  const asked = retryAfterMs(error);
  if (asked === undefined) return backoffMs(retries, BASE_MS, MAX_MS);
  return asked > RETRY_AFTER_MAX_MS ? undefined : asked;
}

/** Tries until it succeeds, fails for a reason that does not pass, or the signal says that it is over. */
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

/** Doubles with each try. Half of it is chance, so that the clients of a server that comes back do not come at once. */
export function backoffMs(retries: number, baseMs: number, maxMs: number, chance = Math.random()): number {
  return Math.min(maxMs, baseMs * 2 ** retries) * (0.5 + chance / 2);
}

/** What `Retry-After` asks for: seconds, or a date. */
export function retryAfterMs(error: unknown, now = Date.now()): number | undefined {
  const header = error instanceof APIError ? error.headers.get('retry-after') : null;
  if (header === null || header.trim() === '') return undefined;
  const ms = Number.isNaN(Number(header)) ? Date.parse(header) - now : Number(header) * 1000;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
