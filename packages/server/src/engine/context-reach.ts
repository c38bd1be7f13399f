/**
 * Decides which part of a session's transcript a run has to read: from the last message back, until there is more than
 * was requested or than the model could get. A session may be many times longer than any model's context, and a run
 * should not pay for all of it.
 */
import { TalariaError } from '@talaria/protocol';
import { messageTokens } from '../agent/context/estimate-tokens.ts';
import { type Message, recentFrom } from '../journal/messages.ts';
import type { ContextRange } from '../journal/records.ts';
import type { StoredMessage } from '../journal/sessions.ts';

/** How many messages to read at a time: few at first, because each may be an image of megabytes, then more and more. */
const FIRST_CHUNK = 4;
const MAX_CHUNK = 50;

export interface ReachLimits {
  /** 0 means no limit. */
  maxTokens: number;
  maxMessages?: number | undefined;
}

export interface ContextReach {
  /** Never begins with a tool result. */
  range: ContextRange;
  /** How many of the requested messages are out of reach. */
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

/** Copies the messages within reach. Rejects with `session_not_found` when the session was deleted meanwhile. */
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
