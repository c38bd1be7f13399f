/**
 * From where on the transcript of a session has to be read for a run: from the last message on, back to where there is
 * more than the model could be given. A session may be many times as long as what any model takes, and a run should not
 * pay for all of it.
 */
import { messageTokens } from '../agent/context/estimate-tokens.ts';
import type { ContextRange } from '../journal/records.ts';
import type { StoredMessage } from '../journal/sessions.ts';

/** Messages read at a time. */
const CHUNK = 50;

/** The position of a message that no tool result belongs to; `maxTokens` 0 is no limit. */
export async function contextReach(
  { from, to }: ContextRange,
  maxTokens: number,
  read: (range: ContextRange) => Promise<StoredMessage[]>,
): Promise<number> {
  if (maxTokens === 0) return from;
  let tokens = 0;
  for (let end = to; end > from; end -= CHUNK) {
    const chunk = await read({ from: Math.max(from, end - CHUNK), to: end });
    for (const { pos, message } of chunk.reverse()) {
      tokens += messageTokens(message);
      if (tokens > maxTokens && message.role !== 'tool') return pos;
    }
  }
  return from;
}
