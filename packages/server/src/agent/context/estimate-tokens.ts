/**
 * How many tokens a message has, roughly. Every provider counts in its own way and only when it is asked, so this errs
 * by some tenths; who must not exceed a limit leaves room.
 */
import type { AssistantPart, Message } from '../../journal/messages.ts';

/** Of English text and code. Counted in bytes it also holds for scripts whose characters are a token each. */
const BYTES_PER_TOKEN = 4;
/** What a message costs beside its text: its role and where it begins and ends. */
const MESSAGE_TOKENS = 4;
/** What providers charge for an image of ordinary size, however many bytes it is sent in. */
const IMAGE_TOKENS = 1000;

export function textTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

export function messageTokens(message: Message): number {
  return MESSAGE_TOKENS + contentTokens(message);
}

function contentTokens(message: Message): number {
  switch (message.role) {
    case 'system':
      return textTokens(message.content);
    case 'user':
      if (typeof message.content === 'string') return textTokens(message.content);
      return sum(
        message.content.map((part) => (part.type === 'image' ? IMAGE_TOKENS : textTokens(part.text))),
      );
    case 'assistant':
      return sum(message.content.map(partTokens));
    case 'tool':
      return textTokens(message.output);
  }
}

function partTokens(part: AssistantPart): number {
  return part.type === 'tool_call' ? textTokens(part.tool + part.arguments) : textTokens(part.text);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
