/** Reads stored responses on the reader's connection. */
import { previousTurn, RESPONSE_COLUMNS, type ResponseRow, toStoredResponse } from '../response-rows.ts';
import type { StoredResponse } from '../responses.ts';
import type { SessionRange } from '../sessions.ts';
import type { Statements } from './statements.ts';

export class ResponsesReader {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  get(owner: string, responseId: string): StoredResponse | undefined {
    const row = this.#row(owner, responseId);
    return row && toStoredResponse(row);
  }

  input(owner: string, responseId: string): string | null | undefined {
    const row = this.#statement('SELECT input FROM responses WHERE response_id = ? AND owner = ?').get<{
      input: string | null;
    }>(responseId, owner);
    return row?.input;
  }

  context(owner: string, responseId: string): SessionRange {
    const row = this.#row(owner, responseId);
    const found =
      row &&
      this.#statement('SELECT session_id FROM sessions WHERE n = ?').get<{ session_id: string }>(row.session);
    const { session, from, to } = previousTurn(responseId, row, found);
    return { sessionId: session.session_id, from, to };
  }

  ofRun(runId: string): StoredResponse[] {
    return this.#statement(`SELECT ${RESPONSE_COLUMNS} FROM responses WHERE run_id = ? ORDER BY n`)
      .all<ResponseRow>(runId)
      .map(toStoredResponse);
  }

  #row(owner: string, responseId: string): ResponseRow | undefined {
    return this.#statement(
      `SELECT ${RESPONSE_COLUMNS} FROM responses WHERE response_id = ? AND owner = ?`,
    ).get<ResponseRow>(responseId, owner);
  }
}
