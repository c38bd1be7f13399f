/** The part of the SQLite driver that keeps conversations. */
import {
  type ConversationRow,
  type Conversations,
  FIND_CONVERSATION,
  type NewConversation,
  type StoredConversation,
  toStoredConversation,
} from '../conversations.ts';
import type { Turn } from '../sessions.ts';
import type { Statements } from './statements.ts';
import type { WriterClient } from './writer-client.ts';

export class ConversationsReader {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  get(owner: string, conversationId: string): StoredConversation | undefined {
    const row = this.#statement(
      `${FIND_CONVERSATION} WHERE s.owner = ? AND s.session_id = ?`,
    ).get<ConversationRow>(owner, conversationId);
    return row && toStoredConversation(row);
  }
}

export class SqliteConversations implements Conversations {
  readonly #writer: WriterClient;
  readonly #reader: ConversationsReader;

  constructor(writer: WriterClient, reader: ConversationsReader) {
    this.#writer = writer;
    this.#reader = reader;
  }

  async get(owner: string, conversationId: string): Promise<StoredConversation | undefined> {
    return this.#reader.get(owner, conversationId);
  }

  create(conversation: NewConversation): Promise<void> {
    return this.#writer.write.conversations.create(conversation);
  }

  describe(owner: string, conversationId: string, metadata: Record<string, string>): Promise<void> {
    return this.#writer.write.conversations.describe(owner, conversationId, metadata);
  }

  add(owner: string, conversationId: string, turn: Turn, atPos: number): Promise<void> {
    return this.#writer.write.conversations.add(owner, conversationId, turn, atPos);
  }
}
