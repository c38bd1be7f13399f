/**
 * Messages as clients send them: what was said before, and the prompt. Read leniently, since each dialect has its own
 * names for a part of text or an image; what could not be passed on to a model is refused.
 */
import { TalariaError } from './errors.ts';
import { invalid } from './fields.ts';

export interface TextContent {
  type: 'text';
  text: string;
}

export interface ImageContent {
  type: 'image';
  url: string;
}

export type Content = string | (TextContent | ImageContent)[];

export interface HistoryMessage {
  role: 'system' | 'user' | 'assistant';
  content: Content;
}

export function parseInput(input: unknown): { prompt: Content; earlier: HistoryMessage[] } {
  if (typeof input === 'string') {
    if (input.trim() === '') throw new TalariaError('no_user_message', { param: 'input' });
    return { prompt: input, earlier: [] };
  }
  if (!Array.isArray(input)) {
    throw invalid('input', "'input' must be a string or an array of messages");
  }
  const messages = input.map((entry: unknown, i) =>
    typeof entry === 'string'
      ? { role: 'user' as const, content: entry }
      : parseMessage(entry, `input[${i}]`),
  );
  const last = messages.at(-1);
  if (last === undefined || isBlank(last.content)) {
    throw new TalariaError('no_user_message', { param: 'input' });
  }
  return { prompt: last.content, earlier: messages.slice(0, -1).filter((m) => !isBlank(m.content)) };
}

export function parseHistory(value: unknown): HistoryMessage[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw new TalariaError('invalid_history', { param: 'conversation_history' });
  // Clients that always send the field send it empty when they have nothing to say by it.
  if (value.length === 0) return undefined;
  return value
    .map((entry: unknown, i) => parseMessage(entry, `conversation_history[${i}]`))
    .filter((m) => !isBlank(m.content));
}

export function parseMessage(entry: unknown, where: string): HistoryMessage {
  const fields = typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : {};
  if (typeof fields.role !== 'string' || !('content' in fields)) {
    throw new TalariaError('invalid_history', {
      message: `${where} must have 'role' and 'content' fields`,
      param: where,
    });
  }
  return { role: toRole(fields.role), content: parseContent(fields.content, where) };
}

/** Tool results without their call cannot be sent to a provider as such; they remain readable as user text. */
function toRole(role: string): HistoryMessage['role'] {
  if (role === 'assistant') return 'assistant';
  return role === 'system' || role === 'developer' ? 'system' : 'user';
}

function parseContent(content: unknown, where: string): Content {
  if (typeof content === 'string') return content;
  // An assistant turn that only called tools has null content in OpenAI's dialect.
  if (content === null) return '';
  if (!Array.isArray(content)) {
    throw invalid(`${where}.content`, `${where}.content must be a string or an array of content parts`);
  }
  return content.map((part: unknown, i) => parsePart(part, `${where}.content[${i}]`));
}

function parsePart(part: unknown, where: string): TextContent | ImageContent {
  if (typeof part === 'string') return { type: 'text', text: part };
  const fields = typeof part === 'object' && part !== null ? (part as Record<string, unknown>) : {};
  const { type, text } = fields;
  if ((type === 'text' || type === 'input_text' || type === 'output_text') && typeof text === 'string') {
    return { type: 'text', text };
  }
  if (type === 'image_url' || type === 'input_image') {
    const image = fields.image_url;
    const url =
      typeof image === 'object' && image !== null && 'url' in image ? (image as { url: unknown }).url : image;
    if (typeof url === 'string' && /^(https?:\/\/|data:image\/)/i.test(url)) return { type: 'image', url };
  }
  throw invalid(where, `${where} must be a text part or an image part with an http(s) or data:image URL`);
}

export function isBlank(content: Content): boolean {
  if (typeof content === 'string') return content.trim() === '';
  return content.every((part) => part.type === 'text' && part.text.trim() === '');
}
