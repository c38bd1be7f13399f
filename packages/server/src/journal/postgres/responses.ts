/**
 * The part of the Postgres driver that keeps responses. Functions that take a transaction are part of the transaction
 * of a run.
 */
import { TalariaError } from '@talaria/protocol';
import type { NewRun } from '../journal.ts';
import { previousTurn, RESPONSE_COLUMNS, type ResponseRow, toStoredResponse } from '../response-rows.ts';
import type { NextResponse, Responses, StoredResponse } from '../responses.ts';
import type { SessionRange } from '../sessions.ts';
import { ASKED, type Database, type Transaction } from './database.ts';
import { forkSession, holdSessionBeyond, isSessionBusy, lockSession } from './sessions.ts';

const FIND = `SELECT ${RESPONSE_COLUMNS} FROM responses WHERE response_id = $1 AND owner = $2`;

/** The session of the new run; creates it when it has to branch off. */
export async function sessionOf(tx: Transaction, { owner, sessionId, response }: NewRun): Promise<string> {
  if (response?.previous === undefined) return sessionId;
  const [row] = await tx.rows<ResponseRow>(FIND, [response.previous, owner]);
  const found =
    row &&
    ((await holdSessionBeyond(tx, row.session, row.context_to)) ?? (await lockSession(tx, row.session)));
  const { session, to } = previousTurn(response.previous, row, found);
  const isLast = session.next_pos === to && !(await isSessionBusy(tx, owner, session.session_id));
  if (isLast) return session.session_id;
  const { forkedFiles: files } = response;
  const fork = await forkSession(tx, { owner, from: session.session_id, into: sessionId, upTo: to, files });
  return fork.sessionId;
}

/** The new run is a response; its session exists by now. */
export function addResponse(
  tx: Transaction,
  { owner, runId }: NewRun,
  response: NonNullable<NewRun['response']>,
  sessionId: string,
): void {
  tx.send(
    `INSERT INTO responses (response_id, owner, run_id, session, session_id, created_at, settings, input)
     VALUES ($1, $2, $3, (SELECT n FROM sessions WHERE owner = $2 AND session_id = $4), $4, $5, $6, $7)`,
    [
      response.responseId,
      owner,
      runId,
      sessionId,
      tx.now,
      JSON.stringify(response.settings),
      response.input ?? null,
    ],
  );
  pushOut(tx, owner, response.maxStored);
}

function pushOut(tx: Transaction, owner: string, maxStored: number): void {
  tx.send(
    `DELETE FROM responses WHERE n = ANY (ARRAY (
       SELECT n FROM responses r
        WHERE owner = $1 AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = r.run_id AND finished_at IS NULL)
        ORDER BY n LIMIT (SELECT greatest(0, count(*) - $2) FROM responses WHERE owner = $1)))`,
    [owner, maxStored],
  );
}

/** The run has completed and its turn has joined the session. */
export function turnAdded(tx: Transaction, runId: string): void {
  tx.send(
    `UPDATE responses r SET context_from = s.context_from, context_to = s.next_pos
       FROM sessions s
      WHERE r.n = (SELECT max(n) FROM responses WHERE run_id = $1) AND s.n = r.session`,
    [runId],
  );
}

export class PostgresResponses implements Responses {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async get(owner: string, responseId: string): Promise<StoredResponse | undefined> {
    const row = await this.#row(owner, responseId);
    return row && toStoredResponse(row);
  }

  async input(owner: string, responseId: string): Promise<string | null | undefined> {
    const [row] = await this.#database.rows<{ input: string | null }>(
      ASKED,
      'SELECT input FROM responses WHERE response_id = $1 AND owner = $2',
      [responseId, owner],
    );
    return row?.input;
  }

  async context(owner: string, responseId: string): Promise<SessionRange> {
    const row = await this.#row(owner, responseId);
    const [found] =
      row === undefined
        ? []
        : await this.#database.rows<{ session_id: string }>(
            ASKED,
            'SELECT session_id FROM sessions WHERE n = $1',
            [row.session],
          );
    const { session, from, to } = previousTurn(responseId, row, found);
    return { sessionId: session.session_id, from, to };
  }

  delete(owner: string, responseId: string): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      const [row] = await tx.rows<ResponseRow>(FIND, [responseId, owner]);
      if (row === undefined) {
        throw new TalariaError('response_not_found', { message: `Response not found: ${responseId}` });
      }
      const unfinished = await tx.rows('SELECT 1 FROM runs WHERE run_id = $1 AND finished_at IS NULL', [
        row.run_id,
      ]);
      if (unfinished.length > 0) throw new TalariaError('response_not_finished');
      tx.send('DELETE FROM responses WHERE n = $1', [row.n]);
    });
  }

  add({ owner, responseId }: StoredResponse, next: NextResponse): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      tx.send(
        `INSERT INTO responses (response_id, owner, run_id, after_seq, session, session_id, created_at, settings, input,
                                context_from, context_to)
         SELECT $3, owner, run_id, $4, session, session_id, $5, $6, $7, context_from, context_to
           FROM responses WHERE response_id = $1 AND owner = $2
             ON CONFLICT DO NOTHING`,
        [
          responseId,
          owner,
          next.responseId,
          next.afterSeq,
          tx.now,
          JSON.stringify(next.settings),
          next.input ?? null,
        ],
      );
      pushOut(tx, owner, next.maxStored);
    });
  }

  async ofRun(runId: string): Promise<StoredResponse[]> {
    const rows = await this.#database.rows<ResponseRow>(
      ASKED,
      `SELECT ${RESPONSE_COLUMNS} FROM responses WHERE run_id = $1 ORDER BY n`,
      [runId],
    );
    return rows.map(toStoredResponse);
  }

  async keep(responseId: string, snapshot: string): Promise<void> {
    await this.#database.transaction(ASKED, async (tx) => {
      tx.send('UPDATE responses SET snapshot = $2 WHERE response_id = $1', [responseId, snapshot]);
    });
  }

  async #row(owner: string, responseId: string): Promise<ResponseRow | undefined> {
    const [row] = await this.#database.rows<ResponseRow>(ASKED, FIND, [responseId, owner]);
    return row;
  }
}
