/** Ids of responses and of their items. They are computed from the run, so a retry gets the same. */
import { createHash } from 'node:crypto';
import { isResponseId, toResponseId } from '@talaria/protocol';

const DIGITS = 28;
const ITEM_ID = new RegExp(`^[a-z]+_([0-9a-f]{${DIGITS}})i?[0-9a-f]{6}$`);

/** `afterSeq`: the event that the response begins after; -1 for the beginning of the run. */
export function responseIdOf(runId: string, afterSeq: number): string {
  if (afterSeq === -1) return toResponseId(runId);
  const hash = createHash('sha256').update(`${runId} ${afterSeq}`).digest('hex');
  return `resp_${hash.slice(0, DIGITS)}`;
}

/** The response of the item, from its output or its input; undefined for an id of another form. */
export function responseOfItem(itemId: string): string | undefined {
  const digits = ITEM_ID.exec(itemId)?.[1];
  const responseId = `resp_${digits}`;
  return isResponseId(responseId) ? responseId : undefined;
}

/** An input item of a response. */
export function inputItemId(responseId: string, prefix: string, index: number): string {
  return `${prefix}_${responseId.slice('resp_'.length)}i${index.toString(16).padStart(6, '0')}`;
}
