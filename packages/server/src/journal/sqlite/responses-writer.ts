/**
 * Every write to the stored responses. What must happen together with a run is called by `SqliteWriter` in the
 * transaction of that run; the other operations are called by name, as `responses.<operation>`.
 */
import { TalariaError } from '@talaria/protocol';
import type { NewRun } from '../journal.ts';
import { previousTurn, RESPONSE_COLUMNS, type ResponseRow } from '../response-rows.ts';
import type { NextResponse, StoredResponse } from '../responses.ts';
import type { SessionRow } from '../session-rows.ts';
import type { SessionsWriter } from './sessions-writer.ts';
import type { Statements } from './statements.ts';

export class ResponsesWriter {
  readonly #statement: Statements;
  readonly #sessions: SessionsWriter;

  constructor(statement: Statements, sessions: SessionsWriter) {
    this.#statement = statement;
    this.#sessions = sessions;
  }

  /** The session of the new run; creates it when it has to branch off. */
  sessionOf({ owner, sessionId, response }: NewRun, now: number): string {
    if (response?.previous === undefined) return sessionId;
    const row = this.#find(owner, response.previous);
    const found = row && this.#statement('SELECT * FROM sessions WHERE n = ?').get<SessionRow>(row.session);
    const { session, to } = previousTurn(response.previous, row, found);
    const isLast = session.next_pos === to && !this.#sessions.isBusy(owner, session.session_id);
    if (isLast) return session.session_id;
    const { forkedFiles: files } = response;
    const fork = { owner, from: session.session_id, into: sessionId, upTo: to, files };
    return this.#sessions.fork(fork, now).sessionId;
  }

  /** The new run is a response; its session exists by now. */
  add({ owner, runId, response }: NewRun, sessionId: string, now: number): void {
    if (response === undefined) return;
    this.#run(
      `INSERT INTO responses (response_id, owner, run_id, session, session_id, created_at, settings, input)
       VALUES (?, ?, ?, (SELECT n FROM sessions WHERE owner = ? AND session_id = ?), ?, ?, ?, ?)`,
      response.responseId,
      owner,
      runId,
      owner,
      sessionId,
      sessionId,
      now,
      JSON.stringify(response.settings),
      response.input ?? null,
    );
    this.#pushOut(owner, response.maxStored);
  }

  /**
   * Adds another response of the same run as an earlier one. If the run has completed, the earlier one has the context
   * to continue from.
   */
  addNext({ owner, responseId }: StoredResponse, next: NextResponse, now: number): void {
    this.#run(
      `INSERT INTO responses (response_id, owner, run_id, after_seq, session, session_id, created_at, settings, input,
                              context_from, context_to)
       SELECT ?, owner, run_id, ?, session, session_id, ?, ?, ?, context_from, context_to
         FROM responses WHERE response_id = ? AND owner = ?
           ON CONFLICT DO NOTHING`,
      next.responseId,
      next.afterSeq,
      now,
      JSON.stringify(next.settings),
      next.input ?? null,
      responseId,
      owner,
    );
    this.#pushOut(owner, next.maxStored);
  }

  /** The run has completed and its turn has joined the session. */
  turnAdded(runId: string): void {
    this.#run(
      `UPDATE responses SET (context_from, context_to) = (
         SELECT context_from, next_pos FROM sessions WHERE n = responses.session)
        WHERE n = (SELECT max(n) FROM responses WHERE run_id = ?)`,
      runId,
    );
  }

  delete(owner: string, responseId: string): void {
    const row = this.#find(owner, responseId);
    if (row === undefined) {
      throw new TalariaError('response_not_found', { message: `Response not found: ${responseId}` });
    }
    const unfinished = this.#statement('SELECT 1 FROM runs WHERE run_id = ? AND finished_at IS NULL').get(
      row.run_id,
    );
    if (unfinished !== undefined) throw new TalariaError('response_not_finished');
    this.#run('DELETE FROM responses WHERE n = ?', row.n);
  }

  keep(responseId: string, snapshot: string): void {
    this.#run('UPDATE responses SET snapshot = ? WHERE response_id = ?', snapshot, responseId);
  }

  #pushOut(owner: string, maxStored: number): void {
    const { stored } = this.#statement('SELECT count(*) AS stored FROM responses WHERE owner = ?').get<{
      stored: number;
    }>(owner)!;
    if (stored <= maxStored) return;
    this.#run(
      `DELETE FROM responses WHERE n IN (
         SELECT n FROM responses r
          WHERE owner = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = r.run_id AND finished_at IS NULL)
          ORDER BY n LIMIT ?)`,
      owner,
      stored - maxStored,
    );
  }

  #find(owner: string, responseId: string): ResponseRow | undefined {
    return this.#statement(
      `SELECT ${RESPONSE_COLUMNS} FROM responses WHERE response_id = ? AND owner = ?`,
    ).get<ResponseRow>(responseId, owner);
  }

  #run(sql: string, ...values: (string | number | null)[]) {
    return this.#statement(sql).run(...values);
  }
}
