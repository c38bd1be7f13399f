/**
 * The id of a run from what a person typed: the whole id, or a unique beginning of it. `run_` may be left out. A whole
 * id is not looked up: the request that needs the run says whether it exists.
 */
import type { Run, Talaria } from '@talaria/client';
import { isRunId } from '@talaria/protocol';
import { CommandError } from '../command-error.ts';
import { UsageError } from '../usage-error.ts';
import { isMissingRoute, missingRoute } from './missing-route.ts';

const PAGE = 200;
const SHOWN_MAX = 5;
/** How many hex digits of an id are the time in milliseconds. */
const TIME_DIGITS = 12;
/** The clocks of servers and of their database may differ. */
const TIME_TOLERANCE_MS = 3_600_000;

export async function findRun(client: Talaria, given: string): Promise<string> {
  const start = given.startsWith('run_') ? given : `run_${given}`;
  if (isRunId(start)) return start;
  if (!/^run_[0-9a-f]{1,31}$/.test(start)) {
    throw new UsageError(`${JSON.stringify(given)} is not the id of a run; expected run_ and hex digits`);
  }
  const found: string[] = [];
  try {
    for await (const run of client.runs.list({ limit: PAGE, view: 'head' })) {
      if (run.run_id.startsWith(start)) found.push(run.run_id);
      if (found.length > SHOWN_MAX || isLongBefore(run, start)) break;
    }
  } catch (error) {
    if (!isMissingRoute(error)) throw error;
    throw await missingRoute(client, 'This server does not list its runs; give the whole id');
  }
  if (found.length === 1) return found[0]!;
  if (found.length === 0) throw new CommandError(`No run begins with ${start}; talaria runs lists them`);
  const count = found.length > SHOWN_MAX ? `More than ${SHOWN_MAX}` : found.length;
  const shown = found.slice(0, SHOWN_MAX).join(', ');
  throw new CommandError(`${count} runs begin with ${start}: ${shown}; give more of the id`);
}

/**
 * Whether the list, which is newest first, has come to runs that are older than any with this beginning: ids begin with
 * the time of creation. A server may have other ids; then its list is read to the end.
 */
function isLongBefore({ run_id, created_at }: Run, start: string): boolean {
  const madeAt = timeIn(run_id);
  const tellsTime = Math.abs(madeAt - created_at * 1000) < TIME_TOLERANCE_MS;
  return tellsTime && madeAt < timeIn(start) - TIME_TOLERANCE_MS;
}

function timeIn(id: string): number {
  const digits = id.slice('run_'.length, 'run_'.length + TIME_DIGITS);
  return Number.parseInt(digits.padEnd(TIME_DIGITS, '0'), 16);
}

/** Begins with the time, so that this many digits are rarely shared with another. */
const SHORT_DIGITS = 12;

/** The ids shortened as far as no two become equal. */
export function shortIds(runs: readonly Pick<Run, 'run_id'>[]): Map<string, string> {
  const ids = runs.map(({ run_id }) => run_id);
  const sorted = ids.toSorted();
  let digits = SHORT_DIGITS;
  for (const [index, id] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next !== undefined && next !== id)
      digits = Math.max(digits, sharedLength(id, next) + 1 - 'run_'.length);
  }
  return new Map(ids.map((id) => [id, id.slice(0, 'run_'.length + digits)]));
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}
