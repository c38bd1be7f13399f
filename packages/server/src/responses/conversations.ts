/** Conversations: sessions in OpenAI's form, and the items that clients add or remove without a run. */
import {
  type Conversation,
  createId,
  type HistoryMessage,
  messagesOfItems,
  pairCalls,
  type ResponseItemList,
  refuseFiles,
  TalariaError,
} from '@talaria/protocol';
import { toMessages } from '../agent/history-messages.ts';
import type { StoredConversation } from '../journal/conversations.ts';
import type { Journal } from '../journal/journal.ts';
import type { Message } from '../journal/messages.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { type Masks, toConversationItems } from './conversation-items.ts';
import { type Item, type ItemPage, listItems } from './item-lists.ts';

type Metadata = Record<string, string>;

const UNMASKED: Masks = { mask: (text) => text, maskKnown: (text) => text, maskJson: (json) => json };

export class ConversationAccess {
  readonly #journal: Pick<Journal, 'conversations' | 'sessions'>;
  readonly #secrets: Secrets;

  constructor(journal: Pick<Journal, 'conversations' | 'sessions'>, secrets: Secrets) {
    this.#journal = journal;
    this.#secrets = secrets;
  }

  async create(owner: string, metadata: Metadata, items: readonly unknown[]): Promise<Conversation> {
    const conversationId = createId('conv');
    const messages = messagesOf(items);
    await this.#journal.conversations.create({ owner, conversationId, metadata, messages });
    return this.get(owner, conversationId);
  }

  async get(owner: string, conversationId: string): Promise<Conversation> {
    return this.#toWire(await this.#find(owner, conversationId));
  }

  async update(owner: string, conversationId: string, metadata: Metadata): Promise<Conversation> {
    await this.#find(owner, conversationId);
    await this.#journal.conversations.describe(owner, conversationId, metadata);
    return this.get(owner, conversationId);
  }

  async delete(owner: string, conversationId: string): Promise<void> {
    await this.#find(owner, conversationId);
    await this.#journal.sessions.delete(owner, conversationId);
  }

  async list(owner: string, conversationId: string, page: ItemPage): Promise<ResponseItemList> {
    const { items } = await this.#read(owner, conversationId);
    return listItems(
      items.map(({ item }) => item),
      page,
    );
  }

  async item(owner: string, conversationId: string, itemId: string): Promise<Item> {
    const { items } = await this.#read(owner, conversationId);
    const found = items.find(({ item }) => item.id === itemId);
    if (found === undefined) throw itemNotFound(itemId);
    return found.item;
  }

  /** The stored items, for a run that gets them again; none when there is no such conversation. */
  async storedItems(owner: string, conversationId: string): Promise<Item[]> {
    const conversation = await this.#journal.conversations.get(owner, conversationId);
    if (conversation === undefined) return [];
    const messages = await this.#messages(owner, conversation);
    return toConversationItems(conversationId, messages, UNMASKED).map(({ item }) => item);
  }

  /** Adds the items after whatever the conversation has by then, and returns them. */
  async addItems(
    owner: string,
    conversationId: string,
    items: readonly unknown[],
  ): Promise<ResponseItemList> {
    const messages = messagesOf(items);
    for (;;) {
      const before = await this.#read(owner, conversationId);
      try {
        if (messages.length > 0) {
          const turn = { messages, replaces: false };
          await this.#journal.conversations.add(owner, conversationId, turn, before.conversation.nextPos);
        }
      } catch (error) {
        // Another writer was faster; the ids of the items depend on all messages before them.
        if (error instanceof TalariaError && error.code === 'session_active_turn') continue;
        throw error;
      }
      const all = toConversationItems(conversationId, [...before.messages, ...messages], this.#secrets);
      const added = all.slice(before.items.length).map(({ item }) => item);
      return listItems(added, { limit: Math.max(added.length, 1), order: 'asc', after: undefined });
    }
  }

  async deleteItem(owner: string, conversationId: string, itemId: string): Promise<Conversation> {
    const { conversation, messages, items } = await this.#read(owner, conversationId);
    const found = items.find(({ item }) => item.id === itemId);
    if (found === undefined) throw itemNotFound(itemId);
    const turn = { messages: found.without(messages), replaces: true };
    await this.#journal.conversations.add(owner, conversationId, turn, conversation.nextPos);
    return this.#toWire(conversation);
  }

  async #read(owner: string, conversationId: string) {
    const conversation = await this.#find(owner, conversationId);
    const messages = await this.#messages(owner, conversation);
    const items = toConversationItems(conversationId, messages, this.#secrets);
    return { conversation, messages, items };
  }

  async #messages(owner: string, conversation: StoredConversation): Promise<Message[]> {
    const { conversationId, contextFrom: from, nextPos: to } = conversation;
    const stored = await this.#journal.sessions.messages(owner, conversationId, { from, to });
    return stored.map(({ message }) => message);
  }

  async #find(owner: string, conversationId: string): Promise<StoredConversation> {
    const found = await this.#journal.conversations.get(owner, conversationId);
    if (found !== undefined) return found;
    const message = `Conversation not found: ${conversationId}`;
    throw new TalariaError('session_not_found', { message });
  }

  #toWire({ conversationId, createdAt, metadata }: StoredConversation): Conversation {
    const { maskKnown } = this.#secrets;
    return {
      id: conversationId,
      object: 'conversation',
      created_at: Math.floor(createdAt / 1000),
      metadata: Object.fromEntries(Object.entries(metadata).map((pair) => pair.map(maskKnown))),
    };
  }
}

function messagesOf(items: readonly unknown[]): Message[] {
  const said: HistoryMessage[] = pairCalls(messagesOfItems(items, 'items'));
  for (const { content } of said) refuseFiles(content, 'a conversation without a run');
  return toMessages(said);
}

function itemNotFound(itemId: string): TalariaError {
  return new TalariaError('not_found', { message: `Item not found: ${itemId}` });
}
