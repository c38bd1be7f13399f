/**
 * The part of the Postgres driver that keeps answered questions and grants. What belongs to the transaction of a run is a
 * function of it.
 */
import { createId } from '@talaria/protocol';
import { type DecisionRow, type GrantRow, toDecision, toGrant } from '../approval-rows.ts';
import {
  type Approvals,
  type Decision,
  type DecisionFilter,
  type DecisionPage,
  GRANT_USE_MS,
  type GrantPage,
} from '../approvals.ts';
import type { Cursors } from '../cursors.ts';
import { LISTED_RUNS } from '../listed-runs.ts';
import { type ListedRow, toStoredRun } from '../rows.ts';
import type { StoredRun } from '../run-state.ts';
import { ASKED, type Database, NOW, type Transaction } from './database.ts';

export function insertDecisions(
  tx: Transaction,
  decided: readonly { owner: string; decision: Decision }[],
): void {
  if (decided.length === 0) return;
  const column = <T>(value: (decision: Decision) => T): T[] => decided.map((each) => value(each.decision));
  tx.send(
    `INSERT INTO decisions (owner, run_id, request_id, question, choice, answered_by, answered_at, message)
     SELECT * FROM unnest ($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[])`,
    [
      decided.map(({ owner }) => owner),
      column(({ runId }) => runId),
      column(({ question }) => question.request_id),
      column(({ question }) => JSON.stringify(question)),
      column(({ choice }) => choice),
      column(({ answeredBy }) => answeredBy),
      column(({ answeredAt }) => answeredAt),
      column(({ message }) => message),
    ],
  );
}

/** `sessionId` is '' for permanent ones. */
export function insertGrants(
  tx: Transaction,
  owner: string,
  sessionId: string,
  patternKeys: readonly string[],
): void {
  tx.send(
    `INSERT INTO grants (owner, session_id, created_at, id, pattern_key)
     SELECT $1, $2, $3, g.* FROM unnest ($4::text[], $5::text[]) AS g (id, pattern_key) ON CONFLICT DO NOTHING`,
    [owner, sessionId, tx.now, patternKeys.map(() => createId('grt')), patternKeys],
  );
}

/** Neither the runs nor their heads are left. */
export function decisionsOfGoneRuns(tx: Transaction, runIds: readonly string[]): void {
  tx.send('DELETE FROM decisions WHERE run_id = ANY ($1::text[])', [runIds]);
}

export class PostgresApprovals implements Approvals {
  readonly #database: Database;
  readonly #cursors: { decisions: Cursors; grants: Cursors };

  constructor(database: Database, cursors: { decisions: Cursors; grants: Cursors }) {
    this.#database = database;
    this.#cursors = cursors;
  }

  /**
   * The answers of the runs stay where they are: a list shows none, and they may be long. Except those that `jsonb`
   * refuses, with a zero character or half a surrogate pair.
   */
  async decisions(filter: DecisionFilter): Promise<DecisionPage> {
    const { rows, next } = await this.#page<DecisionRow>('decisions', filter);
    const runs = await this.#database.rows<ListedRow>(
      ASKED,
      `SELECT n, run_id, owner, session_id, created_at, updated_at, next_seq, job_id, kept, expires_at,
              evicted_for, evicted,
              CASE WHEN state ~ (chr(92) || chr(92) || 'u(0000|d[89a-f])') THEN state
                   ELSE (state::jsonb - 'output')::text END AS state
         FROM ${LISTED_RUNS} WHERE run_id = ANY ($1::text[])`,
      [rows.map((row) => row.run_id)],
    );
    const byId = new Map(runs.map((row) => [row.run_id, withoutOutput(toStoredRun(row))]));
    const decisions = rows.flatMap((row) => {
      const run = byId.get(row.run_id);
      // Deleted between the two reads.
      return run === undefined ? [] : [{ ...toDecision(row), run }];
    });
    return { decisions, next };
  }

  async allows(owner: string, sessionId: string, patternKeys: readonly string[]): Promise<boolean> {
    const granted = await this.#database.rowsByClock<{ pattern_key: string; stale: boolean }>(
      ASKED,
      `SELECT pattern_key, coalesce(last_used_at, 0) <= ${NOW} - $5 AS stale FROM grants
        WHERE owner = $2 AND session_id IN ('', $3) AND pattern_key = ANY ($4::text[])`,
      [owner, sessionId, patternKeys, GRANT_USE_MS],
    );
    const keys = new Set(granted.map((row) => row.pattern_key));
    if (!patternKeys.every((key) => keys.has(key))) return false;
    if (granted.some(({ stale }) => stale)) await this.#used(owner, sessionId, patternKeys);
    return true;
  }

  async grants(filter: DecisionFilter): Promise<GrantPage> {
    const { rows, next } = await this.#page<GrantRow>('grants', filter);
    return { grants: rows.map(toGrant), next };
  }

  revoke(owner: string, grantId: string): Promise<boolean> {
    return this.#database.transaction(ASKED, async (tx) => {
      const gone = await tx.rows('DELETE FROM grants WHERE owner = $1 AND id = $2 RETURNING 1', [
        owner,
        grantId,
      ]);
      return gone.length > 0;
    });
  }

  /** Rows that somebody else writes at the moment are passed over: the use is to the minute. */
  async #used(owner: string, sessionId: string, patternKeys: readonly string[]): Promise<void> {
    await this.#database.transaction(ASKED, async (tx) => {
      tx.send(
        `UPDATE grants SET last_used_at = $4
          WHERE n IN (SELECT n FROM grants
                       WHERE owner = $1 AND session_id IN ('', $2) AND pattern_key = ANY ($3::text[])
                         AND coalesce(last_used_at, 0) <= $4 - $5::bigint
                         FOR UPDATE SKIP LOCKED)`,
        [owner, sessionId, patternKeys, tx.now, GRANT_USE_MS],
      );
    });
  }

  async #page<Row extends { n: number }>(
    table: 'decisions' | 'grants',
    { owner, after, limit }: DecisionFilter,
  ): Promise<{ rows: Row[]; next?: string }> {
    const before = after === undefined ? Number.MAX_SAFE_INTEGER : this.#cursors[table].open(owner, after);
    const rows = await this.#database.rows<Row>(
      ASKED,
      `SELECT * FROM ${table} WHERE owner = $1 AND n < $2 ORDER BY n DESC LIMIT $3`,
      [owner, before, limit + 1],
    );
    if (rows.length <= limit) return { rows };
    rows.pop();
    return { rows, next: this.#cursors[table].seal(owner, rows.at(-1)!.n) };
  }
}

function withoutOutput(run: StoredRun): StoredRun {
  return { ...run, state: { ...run.state, output: null } };
}
