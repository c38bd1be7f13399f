/** Reads stored responses on the reader's connection. */
import type { StatementSync } from 'node:sqlite';
import type { Message } from '../messages.ts';
import type { StoredResponse } from '../responses.ts';
import { previousTurn, type ResponseRow, toStoredResponse } from './response-rows.ts';

export class ResponsesReader {
  readonly #statement: (sql: string) => StatementSync;

  constructor(statement: (sql: string) => StatementSync) {
    this.#statement = statement;
  }

  get(owner: string, responseId: string): StoredResponse | undefined {
    const row = this.#row(owner, responseId);
    return row && toStoredResponse(row);
  }

  context(owner: string, responseId: string): Message[] {
    const row = this.#row(owner, responseId);
    const found =
      row &&
      (this.#statement('SELECT n FROM sessions WHERE n = ?').get(row.session) as { n: number } | undefined);
    const { session, from, to } = previousTurn(responseId, row, found);
    const messages = this.#statement(
      'SELECT message FROM session_messages WHERE session = ? AND pos >= ? AND pos < ? ORDER BY pos',
    ).all(session.n, from, to) as unknown as { message: string }[];
    return messages.map(({ message }) => JSON.parse(message) as Message);
  }

  ofRun(runId: string): StoredResponse | undefined {
    const row = this.#statement('SELECT * FROM responses WHERE run_id = ?').get(runId) as
      | ResponseRow
      | undefined;
    return row && toStoredResponse(row);
  }

  #row(owner: string, responseId: string): ResponseRow | undefined {
    return this.#statement('SELECT * FROM responses WHERE response_id = ? AND owner = ?').get(
      responseId,
      owner,
    ) as ResponseRow | undefined;
  }
}
