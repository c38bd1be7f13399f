/**
 * Asks again and again, for servers without a feed. Only tabs that somebody looks at ask: a hidden one asks once when
 * it is shown again.
 */
import type { Talaria } from '@talaria/client';
import { noteFailure } from '../session.ts';
import { isMissing, readQuestions, readRuns } from './follow.ts';
import { connection, trouble } from './state.ts';
import { pause, untilVisible } from './waiting.ts';

const EVERY_MS = 2_000;
const RETRY_MAX_MS = 15_000;

/** Failures that are shown as a moment's trouble, before the server counts as gone. */
const TOLERATED = 3;

/** Until the signal aborts, or the server turns out not to list runs. */
export async function poll(client: Talaria, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    await untilVisible(signal);
    try {
      await readRuns(client, signal);
      await readQuestions(client, signal);
      failures = 0;
      trouble.value = undefined;
      connection.value = 'live';
    } catch (error) {
      if (signal.aborted) return;
      noteFailure(error);
      trouble.value = error;
      if (isMissing(error)) {
        connection.value = 'old';
        return;
      }
      failures++;
      connection.value = failures > TOLERATED || !navigator.onLine ? 'offline' : 'reconnecting';
    }
    await pause(Math.min(EVERY_MS * 2 ** Math.max(0, failures - 1), RETRY_MAX_MS), signal);
  }
}
