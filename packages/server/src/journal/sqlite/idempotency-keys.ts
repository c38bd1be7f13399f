/**
 * Which run a key stands for. A key exists while its run is unfinished and for its time after the end, also if the run
 * itself is evicted by then.
 */
import type { RunStatus } from '@talaria/protocol';
import type { IdempotencyKey, KnownKey } from '../journal.ts';
import type { Statements } from './statements.ts';

const KEPT_MS = 24 * 3600 * 1000;

interface KeyRow {
  body_hash: string;
  run_id: string;
  status: RunStatus | null;
}

export class IdempotencyKeys {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  find(owner: string, key: string, now: number): KnownKey | undefined {
    const row = this.#statement(
      `SELECT i.body_hash, i.run_id, coalesce(r.status, i.status) AS status
         FROM idempotency i LEFT JOIN runs r ON r.run_id = i.run_id
        WHERE i.owner = ? AND i.key = ? AND (i.expires_at IS NULL OR i.expires_at > ?)`,
    ).get<KeyRow>(owner, key, now);
    if (row === undefined) return undefined;
    return { bodyHash: row.body_hash, runId: row.run_id, status: row.status ?? 'completed' };
  }

  add(owner: string, { key, bodyHash, keptMs = KEPT_MS }: IdempotencyKey, runId: string, now: number): void {
    this.#statement(
      `INSERT OR REPLACE INTO idempotency (owner, key, body_hash, run_id, status, created_at, kept_ms, expires_at)
       VALUES (?, ?, ?, ?, NULL, ?, ?, NULL)`,
    ).run(owner, key, bodyHash, runId, now, keptMs);
  }

  runEnded(runId: string, at: number): void {
    this.#statement('UPDATE idempotency SET expires_at = ? + kept_ms WHERE run_id = ?').run(at, runId);
  }

  runEvicted(runId: string, status: RunStatus): void {
    this.#statement('UPDATE idempotency SET status = ? WHERE run_id = ?').run(status, runId);
  }

  sweep(now: number): void {
    this.#statement('DELETE FROM idempotency WHERE expires_at <= ?').run(now);
  }
}
