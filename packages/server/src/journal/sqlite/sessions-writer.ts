/**
 * Every write to the sessions. What must happen together with a run is called by `SqliteWriter` in the transaction of
 * that run; the other operations are called by name, as `sessions.<operation>`.
 */
import { TalariaError } from '@talaria/protocol';
import { copiedFiles, type KeptSessionFiles } from '../checkpoints.ts';
import { runHolder, sessionHolder } from '../contents.ts';
import type { NewRun } from '../journal.ts';
import {
  changedColumns,
  IS_TOOL_RESULT,
  previewOf,
  type SessionRow,
  toMessageText,
  toolCallsIn,
  toStoredSession,
} from '../session-rows.ts';
import type { NewFork, NewSession, SessionChange, StoredSession, Turn } from '../sessions.ts';
import type { ContentsWriter } from './sqlite-contents.ts';
import type { HeadsWriter } from './sqlite-heads.ts';
import type { Statements } from './statements.ts';

export class SessionsWriter {
  readonly #statement: Statements;
  readonly #heads: HeadsWriter;

  readonly #contents: ContentsWriter;

  constructor(statement: Statements, contents: ContentsWriter, heads: HeadsWriter) {
    this.#statement = statement;
    this.#contents = contents;
    this.#heads = heads;
  }

  /** A run was created in the session, which exists from now on. */
  use(owner: string, sessionId: string, runId: string, now: number): void {
    this.#run(
      `INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns, last_run_id,
                             tool_calls, input_tokens, output_tokens)
       VALUES (?, ?, ?, ?, ?, 0, 0, 0, ?, 0, 0, 0)
       ON CONFLICT (owner, session_id) DO UPDATE
         SET used_at = excluded.used_at, place = excluded.place, last_run_id = excluded.last_run_id,
             ended_at = NULL, end_reason = NULL`,
      owner,
      sessionId,
      now,
      now,
      this.#nextPlace(owner),
      runId,
    );
  }

  create({ owner, sessionId, title, systemPrompt, source, model }: NewSession, now: number): StoredSession {
    if (this.#row(owner, sessionId) !== undefined) throw new TalariaError('session_exists');
    this.#run(
      `INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns,
                             title, system_prompt, source, model, tool_calls, input_tokens, output_tokens)
       VALUES (?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?, ?, 0, 0, 0)`,
      owner,
      sessionId,
      now,
      now,
      this.#nextPlace(owner),
      title,
      systemPrompt,
      source,
      model,
    );
    return toStoredSession(this.#existing(owner, sessionId));
  }

  update(owner: string, sessionId: string, change: SessionChange, now: number): StoredSession {
    const { n } = this.#existing(owner, sessionId);
    for (const [column, value] of changedColumns(change, now)) {
      this.#run(
        `UPDATE sessions SET ${column} = ? WHERE n = ?`,
        typeof value === 'boolean' ? Number(value) : value,
        n,
      );
    }
    return toStoredSession(this.#existing(owner, sessionId));
  }

  addTurn(owner: string, sessionId: string, runId: string, turn: Turn, at: number): void {
    const { messages, replaces, usage } = turn;
    // A run that was accepted before sessions were stored finds none.
    if (this.#row(owner, sessionId) === undefined) this.use(owner, sessionId, runId, at);
    const row = this.#existing(owner, sessionId);
    const contextFrom = replaces ? row.next_pos : row.context_from;
    for (const [i, message] of messages.entries()) {
      this.#run(
        `INSERT INTO session_messages (session, pos, turn, run_id, at, begins_context, message)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        row.n,
        row.next_pos + i,
        row.turns,
        runId,
        at,
        row.next_pos + i === contextFrom ? 1 : 0,
        toMessageText(message),
      );
    }
    this.#run(
      `UPDATE sessions SET next_pos = ?, context_from = ?, turns = turns + 1, used_at = ?, place = ?, preview = ?,
                           tool_calls = tool_calls + ?, input_tokens = input_tokens + ?, output_tokens = output_tokens + ?
        WHERE n = ?`,
      row.next_pos + messages.length,
      contextFrom,
      at,
      this.#nextPlace(owner),
      row.next_pos === 0 ? previewOf(turn) : row.preview,
      toolCallsIn(turn),
      usage?.input_tokens ?? 0,
      usage?.output_tokens ?? 0,
      row.n,
    );
  }

  /** Throws unless the run holds all of these blobs. */
  keepFiles(owner: string, sessionId: string, { files, blobIds }: KeptSessionFiles): void {
    const holder = sessionHolder(owner, sessionId);
    const from = runHolder(files.run_id);
    const needed = new Set(blobIds);
    this.#contents.drop(
      holder,
      this.#contents.heldBy(holder).filter((blobId) => !needed.has(blobId)),
    );
    this.#contents.hold(
      holder,
      blobIds.map((blobId) => ({ blobId, from })),
      0,
    );
    this.#run(
      'UPDATE sessions SET files = ? WHERE owner = ? AND session_id = ?',
      JSON.stringify(files),
      owner,
      sessionId,
    );
  }

  /** The session as the present transaction sees it. */
  find(owner: string, sessionId: string): StoredSession | undefined {
    const row = this.#row(owner, sessionId);
    return row && toStoredSession(row);
  }

  /** Whether a run of the session is unfinished. */
  isBusy(owner: string, sessionId: string): boolean {
    const unfinished = this.#statement(
      'SELECT 1 FROM runs WHERE owner = ? AND session_id = ? AND finished_at IS NULL LIMIT 1',
    ).get(owner, sessionId);
    return unfinished !== undefined;
  }

  fork({ owner, from, into, upTo, title, files }: NewFork, now: number): StoredSession {
    const source = this.#existing(owner, from);
    if (this.#row(owner, into) !== undefined) throw new TalariaError('session_exists');
    const { lastInsertRowid } = this.#run(
      `INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns, forked_from,
                             title, system_prompt, source, model, preview, input_tokens, output_tokens)
       VALUES (?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?, ?, ?, ?, 0, 0)`,
      owner,
      into,
      now,
      now,
      this.#nextPlace(owner),
      from,
      title === undefined ? source.title : title,
      source.system_prompt,
      source.source,
      source.model,
      upTo === 0 ? null : source.preview,
    );
    const n = Number(lastInsertRowid);
    this.#run(
      `INSERT INTO session_messages (session, pos, turn, run_id, at, begins_context, message)
       SELECT ?, pos, turn, run_id, at, begins_context, message FROM session_messages WHERE session = ? AND pos < ?`,
      n,
      source.n,
      upTo ?? source.next_pos,
    );
    this.#run(
      `UPDATE sessions SET (next_pos, context_from, turns, tool_calls) = (
         SELECT count(*), coalesce(?, max(pos) FILTER (WHERE begins_context = 1), 0), coalesce(max(turn) + 1, 0),
                count(*) FILTER (WHERE ${IS_TOOL_RESULT})
           FROM session_messages WHERE session = sessions.n)
        WHERE n = ?`,
      // Also when no message is left to mark the beginning.
      upTo === undefined ? source.context_from : null,
      n,
    );
    if (files) this.keepFiles(owner, into, { ...files, files: copiedFiles(files.files) });
    else if (files === undefined && source.files !== null) {
      const shared = JSON.stringify(copiedFiles(JSON.parse(source.files)));
      this.#run('UPDATE sessions SET files = ? WHERE n = ?', shared, n);
      this.#contents.share(sessionHolder(owner, from), sessionHolder(owner, into));
    }
    return toStoredSession(this.#existing(owner, into));
  }

  /** The session of a run's fork, if it has one of its own. */
  forkForRun({ owner, sessionId, sessionFork }: NewRun, now: number): void {
    if (sessionFork === undefined) return;
    const { runId, upTo, files } = sessionFork;
    // A later session of the same name is not the one that the run is in.
    const from = this.#statement(
      `SELECT s.session_id FROM runs r JOIN sessions s ON s.owner = r.owner AND s.session_id = r.session_id
        WHERE r.run_id = ? AND r.owner = ? AND r.session_gone = 0`,
    ).get<Pick<SessionRow, 'session_id'>>(runId, owner);
    if (from !== undefined) this.fork({ owner, from: from.session_id, into: sessionId, upTo, files }, now);
    else if (upTo > 0) throw new TalariaError('session_not_found');
  }

  delete(owner: string, sessionId: string): void {
    const row = this.#existing(owner, sessionId);
    if (this.isBusy(owner, sessionId)) throw new TalariaError('session_active_turn');
    this.#remove(row);
  }

  sweep(unusedMs: number, limit: number, now: number): number {
    const unused = this.#statement(
      `SELECT * FROM sessions s
        WHERE used_at <= ? AND NOT EXISTS (
          SELECT 1 FROM runs r WHERE r.owner = s.owner AND r.session_id = s.session_id AND r.finished_at IS NULL)
        ORDER BY used_at LIMIT ?`,
    ).all<SessionRow>(now - unusedMs, limit);
    for (const row of unused) this.#remove(row);
    return unused.length;
  }

  #remove({ n, owner, session_id }: SessionRow): void {
    this.#run('DELETE FROM session_messages WHERE session = ?', n);
    this.#run('DELETE FROM sessions WHERE n = ?', n);
    this.#contents.drop(sessionHolder(owner, session_id));
    this.#run('DELETE FROM conversations WHERE session = ?', n);
    this.#run('DELETE FROM grants WHERE owner = ? AND session_id = ?', owner, session_id);
    this.#run('UPDATE runs SET session_gone = 1 WHERE owner = ? AND session_id = ?', owner, session_id);
    this.#heads.sessionDeleted(owner, session_id);
  }

  /** The order of use among one owner's sessions: a separate number, because two uses may have the same time. */
  #nextPlace(owner: string): number {
    const { place } = this.#statement(
      'SELECT coalesce(max(place), 0) + 1 AS place FROM sessions WHERE owner = ?',
    ).get<{ place: number }>(owner)!;
    return place;
  }

  #existing(owner: string, sessionId: string): SessionRow {
    const row = this.#row(owner, sessionId);
    if (row === undefined) throw new TalariaError('session_not_found');
    return row;
  }

  #row(owner: string, sessionId: string): SessionRow | undefined {
    return this.#statement('SELECT * FROM sessions WHERE owner = ? AND session_id = ?').get<SessionRow>(
      owner,
      sessionId,
    );
  }

  #run(sql: string, ...values: (string | number | null)[]) {
    return this.#statement(sql).run(...values);
  }
}
