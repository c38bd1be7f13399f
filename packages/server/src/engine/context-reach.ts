/**
 * What of the transcript of a session has to be read for a run: from the last message on, back to where there is more
 * than was asked for, or than the model could be given. A session may be many times as long as what any model takes, and
 * a run should not pay for all of it.
 */
import { TalariaError } from '@talaria/protocol';
import { messageTokens } from '../agent/context/estimate-tokens.ts';
import { type Message, recentFrom } from '../journal/messages.ts';
import type { ContextRange } from '../journal/records.ts';
import type { StoredMessage } from '../journal/sessions.ts';

/** Messages read at a time: few at first, since each may be an image of megabytes, then more and more of those before. */
const FIRST_CHUNK = 4;
const MAX_CHUNK = 50;

export interface ReachLimits {
  /** 0 is no limit. */
  maxTokens: number;
  maxMessages?: number | undefined;
}

export interface ContextReach {
  /** Begins with a message that is no result of a tool. */
  range: ContextRange;
  /** How many of those that were asked for are out of reach. */
  skipped: number;
}

export interface CopiedContext {
  messages: Message[];
  skipped: number;
}

type ReadMessages = (range: ContextRange) => Promise<StoredMessage[]>;

export async function contextReach(
  said: ContextRange,
  { maxTokens, maxMessages }: ReachLimits,
  read: ReadMessages,
): Promise<ContextReach> {
  const asked = maxMessages === undefined ? said : await lastOf(said, maxMessages, read);
  const from = maxTokens === 0 ? asked.from : await beginOf(asked, maxTokens, read);
  return { range: { from, to: asked.to }, skipped: from - asked.from };
}

/** A copy of what is within reach. Rejects with `session_not_found` when the session was deleted meanwhile. */
export async function copyReach(
  said: ContextRange,
  limits: ReachLimits,
  read: ReadMessages,
): Promise<CopiedContext> {
  const { range, skipped } = await contextReach(said, limits, read);
  const stored = await read(range);
  if (stored.length < range.to - range.from) throw new TalariaError('session_not_found');
  return { messages: stored.map(({ message }) => message), skipped };
}

async function lastOf({ from, to }: ContextRange, max: number, read: ReadMessages): Promise<ContextRange> {
  if (to - from <= max) return { from, to };
  const last = await read({ from: to - max, to });
  return {
    from:
      to -
      max +
      recentFrom(
        last.map(({ message }) => message),
        max,
      ),
    to,
  };
}

async function beginOf({ from, to }: ContextRange, maxTokens: number, read: ReadMessages): Promise<number> {
  let tokens = 0;
  let end = to;
  for (let size = FIRST_CHUNK; end > from; size = Math.min(2 * size, MAX_CHUNK)) {
    const begin = Math.max(from, end - size);
    const chunk = await read({ from: begin, to: end });
    for (const { pos, message } of chunk.reverse()) {
      tokens += messageTokens(message);
      if (tokens > maxTokens && message.role !== 'tool') return pos;
    }
    end = begin;
  }
  return from;
}
