/** A run in a few words. */
import { isTerminalStatus, type Run } from '@talaria/client';
import type { Style } from '../style.ts';
import { safeCommandLine, safeLine } from '../text/safe-text.ts';
import { localTime } from '../text/time.ts';
import { callLine } from './pending-call.ts';

/** An answer may be as long as a book; a list shows only its beginning. */
const SHOWN_CHARS = 300;

/**
 * The most important fact about it now, on one line: its question, the calls it waits for, its error, its answer, or
 * its last event. The last event of a finished run would repeat its status: without an answer it shows its prompt. A run
 * that is evicted says so.
 */
export function describeRun(run: Run): string {
  if (run.approval !== undefined) return `asks: ${safeCommandLine(start(run.approval.command))}`;
  const [call, ...others] = run.pending_calls ?? [];
  if (call !== undefined) {
    const more = others.length === 0 ? '' : `, and ${others.length} more`;
    return `waits for ${callLine(call).slice(0, SHOWN_CHARS)}${more}`;
  }
  const prompt = isTerminalStatus(run.status) ? run.input : undefined;
  const fact = start(run.error ?? run.output ?? prompt ?? run.last_event ?? '');
  return safeLine(run.evicted ? `evicted: ${fact}` : fact);
}

/** Until when the run is kept, in words; undefined for one that is unfinished or gone, and from an older server. */
export function describeKeeping({ keep, expires_at }: Run): string | undefined {
  if (keep === true) return 'until that is taken back';
  return expires_at === undefined ? undefined : `until ${localTime(new Date(expires_at * 1000))}`;
}

/** The first characters of whatever the server put there. */
function start(text: unknown): string {
  return String(text).slice(0, SHOWN_CHARS);
}

const CAREFUL: ReadonlySet<string> = new Set(['waiting_for_approval', 'waiting_for_tool', 'stopping']);

export function paintStatus(status: string, style: Style): (text: string) => string {
  if (status === 'completed') return style.good;
  if (status === 'failed') return style.bad;
  if (CAREFUL.has(status)) return style.careful;
  return status === 'cancelled' ? style.faint : style.busy;
}
