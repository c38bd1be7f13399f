/** Every write to the conversations, called by name as `conversations.<operation>`. */
import { TalariaError } from '@talaria/protocol';
import type { NewConversation } from '../conversations.ts';
import type { Turn } from '../sessions.ts';
import type { SessionsWriter } from './sessions-writer.ts';
import type { Statements } from './statements.ts';

export class ConversationsWriter {
  readonly #statement: Statements;
  readonly #sessions: SessionsWriter;

  constructor(statement: Statements, sessions: SessionsWriter) {
    this.#statement = statement;
    this.#sessions = sessions;
  }

  create({ owner, conversationId, metadata, messages }: NewConversation, now: number): void {
    if (this.#sessions.find(owner, conversationId) !== undefined) throw new TalariaError('session_exists');
    this.#statement(
      `INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns)
       SELECT ?, ?, ?, ?, coalesce(max(place), 0) + 1, 0, 0, 0 FROM sessions WHERE owner = ?`,
    ).run(owner, conversationId, now, now, owner);
    this.describe(owner, conversationId, metadata);
    if (messages.length > 0) this.add(owner, conversationId, { messages, replaces: false }, 0, now);
  }

  describe(owner: string, conversationId: string, metadata: Record<string, string>): void {
    this.#find(owner, conversationId);
    this.#statement(
      `INSERT INTO conversations (session, metadata)
       SELECT n, ? FROM sessions WHERE owner = ? AND session_id = ?
           ON CONFLICT (session) DO UPDATE SET metadata = excluded.metadata`,
    ).run(JSON.stringify(metadata), owner, conversationId);
  }

  add(owner: string, conversationId: string, turn: Turn, atPos: number, now: number): void {
    const { nextPos } = this.#find(owner, conversationId);
    if (nextPos !== atPos) throw new TalariaError('session_active_turn');
    this.#sessions.addTurn(owner, conversationId, conversationId, turn, now);
  }

  #find(owner: string, conversationId: string) {
    const session = this.#sessions.find(owner, conversationId);
    if (session === undefined) throw new TalariaError('session_not_found');
    return session;
  }
}
