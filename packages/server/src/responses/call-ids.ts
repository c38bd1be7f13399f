/**
 * Ids of calls that a client runs in OpenAI's dialects. Such a client sends the outputs in a new request, which names
 * only the ids. So each id names its run, and no table of them is needed.
 */
import { createHash } from 'node:crypto';

const HASH_DIGITS = 12;
const CALL_ID = new RegExp(`^call_([0-9a-f]{32})[0-9a-f]{${HASH_DIGITS}}$`);

export function toClientCallId(runId: string, callId: string): string {
  const hash = createHash('sha256').update(callId).digest('hex').slice(0, HASH_DIGITS);
  return `call_${runId.slice('run_'.length)}${hash}`;
}

/** Undefined for an id that is not one of these. */
export function runOfCallId(id: string): string | undefined {
  const digits = CALL_ID.exec(id)?.[1];
  return digits === undefined ? undefined : `run_${digits}`;
}
