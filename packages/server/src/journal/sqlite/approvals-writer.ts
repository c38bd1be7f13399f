/**
 * Every write to answered questions and to grants. What belongs to the transaction of a run is called by `SqliteWriter`;
 * the rest is asked for by name, as `approvals.<operation>`.
 */
import { createId } from '@talaria/protocol';
import { type Decision, GRANT_USE_MS } from '../approvals.ts';
import type { Statements } from './statements.ts';

export class ApprovalsWriter {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  decided(owner: string, decisions: readonly Decision[]): void {
    for (const { runId, question, choice, answeredBy, answeredAt, message } of decisions) {
      this.#statement(
        `INSERT INTO decisions (owner, run_id, request_id, question, choice, answered_by, answered_at, message)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ).run(
        owner,
        runId,
        question.request_id,
        JSON.stringify(question),
        choice,
        answeredBy,
        answeredAt,
        message,
      );
    }
  }

  /** `sessionId` is '' for a permanent one. */
  grant(owner: string, sessionId: string, patternKeys: readonly string[], now: number): void {
    for (const key of patternKeys) {
      this.#statement(
        'INSERT OR IGNORE INTO grants (id, owner, session_id, pattern_key, created_at) VALUES (?, ?, ?, ?, ?)',
      ).run(createId('grt'), owner, sessionId, key, now);
    }
  }

  used(owner: string, sessionId: string, patternKeys: readonly string[], now: number): void {
    for (const key of patternKeys) {
      this.#statement(
        `UPDATE grants SET last_used_at = ?
          WHERE owner = ? AND session_id IN ('', ?) AND pattern_key = ? AND coalesce(last_used_at, 0) <= ?`,
      ).run(now, owner, sessionId, key, now - GRANT_USE_MS);
    }
  }

  revoke(owner: string, grantId: string): boolean {
    return this.#statement('DELETE FROM grants WHERE owner = ? AND id = ?').run(owner, grantId).changes > 0;
  }

  /** Neither the run nor its head is left. */
  runGone(runId: string): void {
    this.#statement('DELETE FROM decisions WHERE run_id = ?').run(runId);
  }

  sessionEnded(owner: string, sessionId: string): void {
    this.#statement('DELETE FROM grants WHERE owner = ? AND session_id = ?').run(owner, sessionId);
  }
}
