/**
 * Makes a conversation shorter by leaving out its beginning. Pure.
 *
 * A cut is one number: of the messages before it, those of the system and the prompt of the run remain, and a line for
 * the model stands in the place of the others. It never parts a tool call from its result, which no provider would take:
 * messages go in groups, an assistant's with the results of its calls, any other by itself. The last group always stays.
 * Later messages change nothing about a cut.
 */
import type { Message } from '../../journal/messages.ts';
import { messageTokens } from './estimate-tokens.ts';

/** At most, whatever number is in it. */
const NOTE_TOKENS = 40;

export interface Conversation {
  messages: readonly Message[];
  /** The index of the prompt of the run. */
  prompt: number;
  /** Messages before the first of these, which count as left out. */
  skipped: number;
}

/** What is left of the conversation. */
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

/** Moves a cut on until what is left has at most so many tokens, or until nothing more can go. */
export function moveCut(conversation: Conversation, cut: number, maxTokens: number): number {
  const { messages } = conversation;
  let tokens = tokensOf(afterCut(conversation, cut));
  if (tokens <= maxTokens) return cut;
  let moved = cut;
  if (omittedBy(conversation, cut) === 0) tokens += NOTE_TOKENS;
  const starts = groupStarts(messages);
  // The last group has no group after it, before which a cut could stand.
  for (const [i, next] of starts.slice(1).entries()) {
    const start = starts[i]!;
    if (tokens <= maxTokens) break;
    if (start < cut || stays(conversation, start)) continue;
    tokens -= tokensOf(messages.slice(start, next));
    moved = next;
  }
  return moved;
}

function stays({ messages, prompt }: Conversation, index: number): boolean {
  return index === prompt || messages[index]?.role === 'system';
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
