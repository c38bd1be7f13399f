/** What `/health/detailed` says about the store: whether it accepts a write now, and its last failure. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Check } from '../../basics/check.ts';
import type { Journal } from '../../journal/journal.ts';

/** A disk that hangs must not make the health check hang. */
const ANSWER_MS = 2_000;

export interface StoreCheck extends Check {
  last_error: { message: string; at: string } | null;
}

export async function checkStore(
  journal: Pick<Journal, 'checkHealth'>,
  name: string,
  answerMs = ANSWER_MS,
): Promise<StoreCheck> {
  const given = new AbortController();
  const health = await Promise.race([
    journal.checkHealth(),
    delay(answerMs, undefined, { signal: given.signal }).catch(() => undefined),
  ]);
  given.abort();
  if (health === undefined) {
    return { status: 'failed', detail: `${name}: no write within ${answerMs / 1000} s`, last_error: null };
  }
  const { writable, lastError } = health;
  return {
    status: writable ? 'ok' : 'failed',
    detail: writable ? name : `${name}: takes no writes`,
    last_error: lastError && { message: lastError.message, at: new Date(lastError.at).toISOString() },
  };
}
