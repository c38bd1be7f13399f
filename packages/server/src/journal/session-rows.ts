/** Rows of the sessions and the domain types they stand for. */
import type { Message } from './messages.ts';
import type { StoredMessage, StoredSession } from './sessions.ts';

export interface SessionRow {
  n: number;
  owner: string;
  session_id: string;
  created_at: number;
  used_at: number;
  place: number;
  next_pos: number;
  context_from: number;
  turns: number;
  last_run_id: string | null;
  forked_from: string | null;
}

export interface SessionMessageRow {
  pos: number;
  run_id: string;
  at: number;
  message: string;
}

export function toStoredSession(row: SessionRow): StoredSession {
  return {
    sessionId: row.session_id,
    createdAt: row.created_at,
    usedAt: row.used_at,
    nextPos: row.next_pos,
    contextFrom: row.context_from,
    turns: row.turns,
    lastRunId: row.last_run_id,
    forkedFrom: row.forked_from,
  };
}

export function toStoredMessage(row: SessionMessageRow): StoredMessage {
  return { pos: row.pos, runId: row.run_id, at: row.at, message: JSON.parse(row.message) as Message };
}
