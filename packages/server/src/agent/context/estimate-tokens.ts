/**
 * Estimates the tokens of a message. Every provider counts in its own way, and only when asked, so the estimate may be
 * wrong by some tenths. A caller that must not exceed a limit leaves room.
 */
import type { AssistantPart, Message } from '../../journal/messages.ts';
import type { ToolDefinition } from '../model/model.ts';

/**
 * For English text and code. Because bytes are counted, it also holds for scripts in which each character is a token.
 */
const BYTES_PER_TOKEN = 4;
/** The cost of a message beside its text: its role and its delimiters. */
const MESSAGE_TOKENS = 4;
/** What providers charge for an image of normal size. */
const IMAGE_TOKENS = 1000;
/**
 * Providers accept requests of some tens of megabytes: images of that size fill a context of 128 000 tokens at this
 * rate.
 */
const IMAGE_CHARS_PER_TOKEN = 250;

export function textTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** The tokens of each tool, kept because every step of every run asks for the same tools. */
const knownTools = new WeakMap<ToolDefinition, number>();

export function toolTokens(tool: ToolDefinition): number {
  let tokens = knownTools.get(tool);
  if (tokens === undefined) {
    tokens = textTokens(JSON.stringify(tool));
    knownTools.set(tool, tokens);
  }
  return tokens;
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

/** The URL may contain the image itself. */
function imageTokens(url: string): number {
  return Math.max(IMAGE_TOKENS, Math.ceil(url.length / IMAGE_CHARS_PER_TOKEN));
}

function partTokens(part: AssistantPart): number {
  return part.type === 'tool_call' ? textTokens(part.tool + part.arguments) : textTokens(part.text);
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
