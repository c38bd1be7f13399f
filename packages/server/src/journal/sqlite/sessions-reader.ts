/** Reads of the sessions, on the connection of `SqliteReader`. */
import type { SessionFiles } from '../checkpoints.ts';
import type { Cursors } from '../cursors.ts';
import {
  type SessionMessageRow,
  type SessionRow,
  toSessionFiles,
  toStoredMessage,
  toStoredSession,
} from '../session-rows.ts';
import type { MessageRange, SessionFilter, SessionPage, StoredMessage, StoredSession } from '../sessions.ts';
import { DEFAULT_SOURCE } from '../sessions.ts';
import type { Statements } from './statements.ts';

export class SessionsReader {
  readonly #statement: Statements;
  readonly #cursors: Cursors;

  constructor(statement: Statements, cursors: Cursors) {
    this.#statement = statement;
    this.#cursors = cursors;
  }

  get(owner: string, sessionId: string): StoredSession | undefined {
    const row = this.#statement('SELECT * FROM sessions WHERE owner = ? AND session_id = ?').get<SessionRow>(
      owner,
      sessionId,
    );
    return row && toStoredSession(row);
  }

  files(owner: string, sessionId: string): SessionFiles | undefined {
    const row = this.#statement('SELECT files FROM sessions WHERE owner = ? AND session_id = ?').get<
      Pick<SessionRow, 'files'>
    >(owner, sessionId);
    return row && toSessionFiles(row);
  }

  list({ owner, after, offset, limit, source, title, includeHidden }: SessionFilter): SessionPage {
    const before = after === undefined ? Number.MAX_SAFE_INTEGER : this.#cursors.open(owner, after);
    // One more than requested shows whether there are more.
    const rows = this.#statement(
      `SELECT * FROM sessions
        WHERE owner = ?1 AND place < ?2 AND (?3 OR hidden = 0)
          AND (?4 IS NULL OR coalesce(source, ?5) = ?4) AND (?6 IS NULL OR title = ?6)
        ORDER BY place DESC LIMIT ?7 OFFSET ?8`,
    ).all<SessionRow>(
      owner,
      before,
      includeHidden === true ? 1 : 0,
      source ?? null,
      DEFAULT_SOURCE,
      title ?? null,
      limit + 1,
      offset ?? 0,
    );
    const page = rows.slice(0, limit);
    const sessions = page.map(toStoredSession);
    const last = page.at(-1);
    if (rows.length <= limit || last === undefined) return { sessions };
    return { sessions, next: this.#cursors.seal(owner, last.place) };
  }

  messages(
    owner: string,
    sessionId: string,
    {
      from,
      to = Number.MAX_SAFE_INTEGER,
      limit = Number.MAX_SAFE_INTEGER,
      maxChars = Number.POSITIVE_INFINITY,
      latest = false,
    }: MessageRange,
  ): StoredMessage[] {
    const rows = this.#statement(
      `SELECT pos, run_id, at, message FROM session_messages
        WHERE session = (SELECT n FROM sessions WHERE owner = ? AND session_id = ?) AND pos >= ? AND pos < ?
        ORDER BY pos ${latest ? 'DESC' : ''} LIMIT ?`,
    ).iterate<SessionMessageRow>(owner, sessionId, from, to, limit);
    const messages: StoredMessage[] = [];
    let chars = 0;
    for (const row of rows) {
      messages.push(toStoredMessage(row));
      chars += row.message.length;
      if (chars >= maxChars) break;
    }
    return latest ? messages.reverse() : messages;
  }
}
