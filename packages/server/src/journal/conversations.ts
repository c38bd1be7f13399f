/**
 * Conversations: sessions that clients of OpenAI's API create, describe and add to without a run.
 *
 * Invariants
 * - A conversation is a session of the same name: it exists as long as the session, whoever created it.
 * - What a client adds is a turn of the session. Messages never change: removing an item adds a turn with the remaining
 *   items, which replaces the earlier messages.
 */
import type { Turn } from './sessions.ts';

export interface StoredConversation {
  conversationId: string;
  /** In ms. */
  createdAt: number;
  metadata: Record<string, string>;
  /** Its content: these messages of the session. */
  contextFrom: number;
  nextPos: number;
}

export interface NewConversation {
  owner: string;
  conversationId: string;
  metadata: Record<string, string>;
  messages: Turn['messages'];
}

export interface Conversations {
  get(owner: string, conversationId: string): Promise<StoredConversation | undefined>;
  /** Rejects with `session_exists` when the name is taken. */
  create(conversation: NewConversation): Promise<void>;
  /** Rejects with `session_not_found`. */
  describe(owner: string, conversationId: string, metadata: Record<string, string>): Promise<void>;
  /**
   * Rejects with `session_not_found`, or with `session_active_turn` when the session does not end at `atPos`: it has
   * messages that the caller did not know of.
   */
  add(owner: string, conversationId: string, turn: Turn, atPos: number): Promise<void>;
}

export interface ConversationRow {
  session_id: string;
  created_at: number;
  context_from: number;
  next_pos: number;
  metadata: string | null;
}

export function toStoredConversation(row: ConversationRow): StoredConversation {
  return {
    conversationId: row.session_id,
    createdAt: row.created_at,
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
    contextFrom: row.context_from,
    nextPos: row.next_pos,
  };
}

/** SQL, without the parameters. */
export const FIND_CONVERSATION = `SELECT s.session_id, s.created_at, s.context_from, s.next_pos, c.metadata
   FROM sessions s LEFT JOIN conversations c ON c.session = s.n`;
