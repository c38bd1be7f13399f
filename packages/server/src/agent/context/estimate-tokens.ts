/**
 * How many tokens a message has, roughly. Every provider counts in its own way and only when it is asked, so this errs
 * by some tenths; who must not exceed a limit leaves room.
 */
import type { AssistantPart, Message } from '../../journal/messages.ts';

/** Of English text and code. Counted in bytes it also holds for scripts whose characters are a token each. */
const BYTES_PER_TOKEN = 4;
/** What a message costs beside its text: its role and where it begins and ends. */
const MESSAGE_TOKENS = 4;
/** What providers charge for an image of ordinary size. */
const IMAGE_TOKENS = 1000;
/** They take requests of some tens of megabytes: in a context of 128 000 tokens that is what images of this weight fill. */
const IMAGE_CHARS_PER_TOKEN = 250;

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
        message.content.map((part) =>
          part.type === 'image' ? imageTokens(part.url) : textTokens(part.text),
        ),
      );
    case 'assistant':
      return sum(message.content.map(partTokens));
    case 'tool':
      return textTokens(message.output);
  }
}

/** The address may be the image itself. */
function imageTokens(url: string): number {
  return Math.max(IMAGE_TOKENS, Math.ceil(url.length / IMAGE_CHARS_PER_TOKEN));
}

function partTokens(part: AssistantPart): number {
  return part.type === 'tool_call' ? textTokens(part.tool + part.arguments) : textTokens(part.text);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
