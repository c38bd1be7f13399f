/**
 * Shortens a conversation by leaving out its beginning. Pure.
 *
 * A cut is one number, an index. Of the messages before it, the system messages and the run's prompts remain; one line
 * for the model replaces the others. A cut never separates a tool call from its result, because no provider accepts
 * that: messages are removed in groups, an assistant message with the results of its calls, any other message alone.
 * The last group always stays. Later messages do not change a cut.
 */
import type { Message } from '../../journal/messages.ts';
import { messageTokens } from './estimate-tokens.ts';

/** The longest form of the note, whatever its number. */
const NOTE_TOKENS = 40;

export interface Conversation {
  messages: readonly Message[];
  /** The indices of the run's prompt and, in a fork, of the message that it continues with. */
  prompts: readonly number[];
  /** How many messages before the first of these count as left out already. */
  skipped: number;
}

/** The conversation after the cut. */
export function afterCut(conversation: Conversation, cut: number): Message[] {
  const { messages } = conversation;
  const omitted = omittedBy(conversation, cut);
  if (omitted === 0) return [...messages];
  const kept = messages.filter((_, index) => index < cut && stays(conversation, index));
  return [...kept, note(omitted), ...messages.slice(cut)];
}

export function omittedBy(conversation: Conversation, cut: number): number {
  const before = conversation.messages.slice(0, cut);
  return conversation.skipped + before.filter((_, index) => !stays(conversation, index)).length;
}

export function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((total, message) => total + messageTokens(message), 0);
}

/** Moves a cut forward until the rest has at most this many tokens, or until nothing more can be removed. */
export function moveCut(conversation: Conversation, cut: number, maxTokens: number): number {
  const { messages } = conversation;
  let tokens = tokensOf(afterCut(conversation, cut));
  if (tokens <= maxTokens) return cut;
  let moved = cut;
  if (omittedBy(conversation, cut) === 0) tokens += NOTE_TOKENS;
  const starts = groupStarts(messages);
  // A cut cannot come after the last group.
  for (const [i, next] of starts.slice(1).entries()) {
    const start = starts[i]!;
    if (tokens <= maxTokens) break;
    if (start < cut || stays(conversation, start)) continue;
    tokens -= tokensOf(messages.slice(start, next));
    moved = next;
  }
  return moved;
}

function stays({ messages, prompts }: Conversation, index: number): boolean {
  return prompts.includes(index) || messages[index]?.role === 'system';
}

function groupStarts(messages: readonly Message[]): number[] {
  return messages.flatMap(({ role }, index) => (role === 'tool' ? [] : [index]));
}

function note(omitted: number): Message {
  const what = omitted === 1 ? 'One earlier message was' : `${omitted} earlier messages were`;
  return {
    role: 'user',
    content: `[${what} left out here: the conversation is longer than the model's context.]`,
  };
}
