/**
 * The messages of a session as items of a conversation. A message has no id of its own. So the id of an item is made
 * from its content and from how often that content occurred before: it stays the same when other items are removed. It
 * also names the conversation, so that a request can refer to the item by its id alone.
 */
import { createHash } from 'node:crypto';
import type { AssistantPart, Message } from '../journal/messages.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Item } from './item-lists.ts';

/** With its prefix, the longest call id that OpenAI accepts. */
const ID_DIGITS = 36;
const ITEM_ID = new RegExp(`^[a-z]+_[0-9a-f]{${ID_DIGITS}}_([\\w-]+)$`);

/** Masks what is shown. */
export type Masks = Pick<Secrets, 'mask' | 'maskKnown' | 'maskJson'>;

export interface ConversationItem {
  item: Item;
  /** The messages without the content of the item. */
  without(messages: readonly Message[]): Message[];
}

/** The conversation of the item; undefined for an id of another form. */
export function conversationOfItem(itemId: string): string | undefined {
  const encoded = ITEM_ID.exec(itemId)?.[1];
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64url').toString('utf8');
}

export function toConversationItems(
  conversationId: string,
  messages: readonly Message[],
  secrets: Masks,
): ConversationItem[] {
  const encoded = Buffer.from(conversationId, 'utf8').toString('base64url');
  const seen = new Map<string, number>();
  const idOf = (prefix: string, said: unknown): string => {
    const text = JSON.stringify(said);
    const times = seen.get(text) ?? 0;
    seen.set(text, times + 1);
    const hash = createHash('sha256').update(`${times} ${text}`).digest('hex');
    return `${prefix}_${hash.slice(0, ID_DIGITS)}_${encoded}`;
  };
  return messages.flatMap((message, at) => {
    if (message.role === 'assistant') return assistantItems(messages, at, message.content, secrets, idOf);
    // It is shown with its call.
    if (message.role === 'tool') return [];
    const { role, content } = message;
    const id = idOf('msg', message);
    const item = { id, type: 'message', status: 'completed', role, content: inputParts(content, secrets) };
    return [{ item, without: (all: readonly Message[]) => all.filter((_, i) => i !== at) }];
  });
}

function assistantItems(
  messages: readonly Message[],
  at: number,
  parts: readonly AssistantPart[],
  secrets: Masks,
  idOf: (prefix: string, said: unknown) => string,
): ConversationItem[] {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const items: ConversationItem[] = [];
  if (text !== '') {
    const content = [{ type: 'output_text', text: secrets.maskKnown(text), annotations: [] }];
    const id = idOf('msg', { role: 'assistant', text });
    items.push({
      item: { id, type: 'message', status: 'completed', role: 'assistant', content },
      without: (all) => withoutParts(all, at, ({ type }) => type === 'text'),
    });
  }
  for (const part of parts) {
    if (part.type !== 'tool_call') continue;
    const isResult = (message: Message) => message.role === 'tool' && message.tool_call_id === part.id;
    const result = messages.find((message, i) => i > at && isResult(message));
    const output = result?.role === 'tool' ? secrets.mask(result.output) : null;
    const failed = result?.role === 'tool' && result.is_error;
    items.push({
      item: {
        id: idOf('mcp', part),
        type: 'mcp_call',
        status: failed ? 'failed' : 'completed',
        server_label: 'talaria',
        name: part.tool,
        arguments: secrets.maskJson(part.arguments),
        output: failed ? null : output,
        error: failed ? output : null,
      },
      without: (all) =>
        withoutParts(
          all.filter((message, i) => i <= at || !isResult(message)),
          at,
          (other) => other.type === 'tool_call' && other.id === part.id,
        ),
    });
  }
  return items;
}

/** A message without any content left is removed. */
function withoutParts(
  messages: readonly Message[],
  at: number,
  isGone: (part: AssistantPart) => boolean,
): Message[] {
  return messages.flatMap((message, i): Message[] => {
    if (i !== at || message.role !== 'assistant') return [message];
    const content = message.content.filter((part) => !isGone(part));
    return content.some(({ type }) => type !== 'reasoning') ? [{ ...message, content }] : [];
  });
}

function inputParts(content: Extract<Message, { role: 'user' | 'system' }>['content'], { maskKnown }: Masks) {
  if (typeof content === 'string') return [{ type: 'input_text', text: maskKnown(content) }];
  return content.map((part) =>
    part.type === 'text'
      ? { type: 'input_text', text: maskKnown(part.text) }
      : { type: 'input_image', image_url: maskKnown(part.url), detail: 'auto', file_id: null },
  );
}
