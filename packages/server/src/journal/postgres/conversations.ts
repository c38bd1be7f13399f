/** The part of the Postgres driver that keeps conversations. */
import { TalariaError } from '@talaria/protocol';
import {
  type ConversationRow,
  type Conversations,
  FIND_CONVERSATION,
  type NewConversation,
  type StoredConversation,
  toStoredConversation,
} from '../conversations.ts';
import type { Turn } from '../sessions.ts';
import { ASKED, type Database, type Transaction } from './database.ts';
import { addTurn } from './sessions.ts';

export class PostgresConversations implements Conversations {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async get(owner: string, conversationId: string): Promise<StoredConversation | undefined> {
    const [row] = await this.#database.rows<ConversationRow>(
      ASKED,
      `${FIND_CONVERSATION} WHERE s.owner = $1 AND s.session_id = $2`,
      [owner, conversationId],
    );
    return row && toStoredConversation(row);
  }

  create({ owner, conversationId, metadata, messages }: NewConversation): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      const [made] = await tx.rows<{ n: number }>(
        `INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns)
         VALUES ($1, $2, $3, $3, nextval('session_places'), 0, 0, 0) ON CONFLICT DO NOTHING RETURNING n`,
        [owner, conversationId, tx.now],
      );
      if (made === undefined) throw new TalariaError('session_exists');
      describe(tx, made.n, metadata);
      const names = { owner, session_id: conversationId, run_id: conversationId };
      if (messages.length > 0) addTurn(tx, names, { messages, replaces: false });
    });
  }

  describe(owner: string, conversationId: string, metadata: Record<string, string>): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      const { n } = await lock(tx, owner, conversationId);
      describe(tx, n, metadata);
    });
  }

  add(owner: string, conversationId: string, turn: Turn, atPos: number): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      const { next_pos: nextPos } = await lock(tx, owner, conversationId);
      if (nextPos !== atPos) throw new TalariaError('session_active_turn');
      addTurn(tx, { owner, session_id: conversationId, run_id: conversationId }, turn);
    });
  }
}

function describe(tx: Transaction, n: number, metadata: Record<string, string>): void {
  tx.send(
    `INSERT INTO conversations (session, metadata) VALUES ($1, $2)
         ON CONFLICT (session) DO UPDATE SET metadata = excluded.metadata`,
    [n, JSON.stringify(metadata)],
  );
}

async function lock(
  tx: Transaction,
  owner: string,
  sessionId: string,
): Promise<{ n: number; next_pos: number }> {
  const [row] = await tx.rows<{ n: number; next_pos: number }>(
    'SELECT n, next_pos FROM sessions WHERE owner = $1 AND session_id = $2 FOR UPDATE',
    [owner, sessionId],
  );
  if (row === undefined) throw new TalariaError('session_not_found');
  return row;
}
