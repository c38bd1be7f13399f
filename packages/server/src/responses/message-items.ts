/** The model's messages, one item for each step, and the server's messages to a person. */
import type { ResponseItem } from '@talaria/protocol';
import type { ItemId, OutputItems, Slot } from './output-items.ts';

type MessageItem = Extract<ResponseItem, { type: 'message' }>;
type ItemStatus = NonNullable<MessageItem['status']>;

interface OpenMessage {
  id: string;
  slot: Slot;
  text: string;
}

export class MessageItems {
  readonly #items: OutputItems;
  readonly #itemId: ItemId;
  #open: OpenMessage | undefined;
  #notices = 0;

  constructor(items: OutputItems, itemId: ItemId) {
    this.#items = items;
    this.#itemId = itemId;
  }

  /** The index of the open message. */
  get slot(): Slot | undefined {
    return this.#open?.slot;
  }

  /** `n` is the number of the message to open, if none is open. */
  add(delta: string, n: number): void {
    const message = this.#open ?? this.#begin(this.#itemId('msg', n));
    message.text += delta;
    this.#items.emit('response.output_text.delta', { ...placeOf(message), delta, logprobs: [] });
  }

  close(status: 'completed' | 'incomplete'): void {
    const message = this.#open;
    if (message === undefined) return;
    this.#open = undefined;
    const { emit } = this.#items;
    emit('response.output_text.done', { ...placeOf(message), text: message.text, logprobs: [] });
    emit('response.content_part.done', { ...placeOf(message), part: textPart(message.text) });
    this.#items.done(message.slot, messageItem(message, status));
  }

  /** Repeated text becomes another item. */
  discard(): void {
    const id = this.#open?.id;
    this.close('incomplete');
    if (id !== undefined) this.#items.drop(id);
  }

  /** A complete message of the server itself. */
  notice(text: string): void {
    this.close('completed');
    this.#begin(this.#itemId('msg', NOTICES_FROM + this.#notices++));
    this.add(text, 0);
    this.close('completed');
  }

  #begin(id: string): OpenMessage {
    const added: MessageItem = { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    const slot = this.#items.add(added, () => messageItem(message, 'in_progress'));
    const message: OpenMessage = { id, slot, text: '' };
    this.#open = message;
    this.#items.emit('response.content_part.added', { ...placeOf(message), part: textPart('') });
    return message;
  }
}

/** Numbers beyond those of the model's messages. */
const NOTICES_FROM = 0xf00000;

function placeOf({ id, slot }: OpenMessage) {
  return { item_id: id, output_index: slot.outputIndex, content_index: 0 };
}

function textPart(text: string): MessageItem['content'][number] {
  return { type: 'output_text', text, annotations: [] };
}

function messageItem({ id, text }: OpenMessage, status: ItemStatus): MessageItem {
  return { id, type: 'message', status, role: 'assistant', content: [textPart(text)] };
}
