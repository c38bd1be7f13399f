/**
 * Which run a key stands for. A key exists while its run is unfinished and for its time after the end, also if the run
 * itself is evicted by then. It is taken before its run is created: a second request waits for the first, and then
 * finds the key taken.
 */
import type { RunStatus } from '@talaria/protocol';
import type { KnownKey, NewRun } from '../journal.ts';
import { ASKED, type Database, NOW, type Transaction } from './database.ts';

const KEPT_MS = 24 * 3600 * 1000;
const SWEPT_AT_ONCE = 1_000;

interface KeyRow {
  owner: string;
  key: string;
  body_hash: string;
  run_id: string;
  status: RunStatus | null;
}

export class TakenKeys {
  readonly #rows: Map<string, KeyRow>;

  /** Takes the free keys of these runs; of several runs with one key the first gets it. */
  static async take(tx: Transaction, runs: readonly NewRun[]): Promise<TakenKeys> {
    const first = new Map<string, NewRun>();
    for (const run of runs) {
      const name = nameOf(run);
      if (name !== undefined && !first.has(name)) first.set(name, run);
    }
    const keyed = [...first.values()];
    if (keyed.length === 0) return new TakenKeys([]);
    const [owners, keys] = [keyed.map((run) => run.owner), keyed.map((run) => run.idempotency?.key)];
    tx.send(
      `DELETE FROM idempotency i USING unnest ($1::text[], $2::text[]) AS k (owner, key)
        WHERE i.owner = k.owner AND i.key = k.key AND i.expires_at <= $3`,
      [owners, keys, tx.now],
    );
    tx.send(
      `INSERT INTO idempotency (owner, key, body_hash, run_id, kept_ms, created_at)
       SELECT owner, key, body_hash, run_id, kept_ms, $6
         FROM unnest ($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS k (owner, key, body_hash, run_id, kept_ms)
        ORDER BY owner, key
           ON CONFLICT DO NOTHING`,
      [
        owners,
        keys,
        keyed.map((run) => run.idempotency?.bodyHash),
        keyed.map((run) => run.runId),
        keyed.map((run) => run.idempotency?.keptMs ?? KEPT_MS),
        tx.now,
      ],
    );
    return new TakenKeys(
      await tx.rows<KeyRow>(
        `SELECT i.owner, i.key, i.body_hash, i.run_id, coalesce(r.status, i.status) AS status
           FROM unnest ($1::text[], $2::text[]) AS k (owner, key)
           JOIN idempotency i ON i.owner = k.owner AND i.key = k.key
           LEFT JOIN runs r ON r.run_id = i.run_id`,
        [owners, keys],
      ),
    );
  }

  private constructor(rows: readonly KeyRow[]) {
    this.#rows = new Map(rows.map((row) => [JSON.stringify([row.owner, row.key]), row]));
  }

  /** The other run that has the key of this one. */
  holder(run: NewRun): { runId: string; bodyHash: string; status: RunStatus | null } | undefined {
    const row = this.#rows.get(nameOf(run) ?? '');
    if (row === undefined || row.run_id === run.runId) return undefined;
    return { runId: row.run_id, bodyHash: row.body_hash, status: row.status };
  }

  /** The run was refused, and keeps no key: a retry counts as a first attempt. */
  giveBack(tx: Transaction, run: NewRun): void {
    const name = nameOf(run);
    if (name === undefined || this.#rows.get(name)?.run_id !== run.runId) return;
    this.#rows.delete(name);
    tx.send('DELETE FROM idempotency WHERE run_id = $1', [run.runId]);
  }
}

export async function findKey(database: Database, owner: string, key: string): Promise<KnownKey | undefined> {
  const [row] = await database.rowsByClock<Omit<KeyRow, 'owner' | 'key'>>(
    ASKED,
    `SELECT i.body_hash, i.run_id, coalesce(r.status, i.status) AS status
       FROM idempotency i LEFT JOIN runs r ON r.run_id = i.run_id
      WHERE i.owner = $2 AND i.key = $3 AND (i.expires_at IS NULL OR i.expires_at > ${NOW})`,
    [owner, key],
  );
  return row && { runId: row.run_id, bodyHash: row.body_hash, status: row.status ?? 'completed' };
}

export function keysOfEndedRuns(tx: Transaction, runIds: readonly string[], at: number): void {
  tx.send('UPDATE idempotency SET expires_at = $2 + kept_ms WHERE run_id = ANY ($1::text[])', [runIds, at]);
}

export function keysOfEvictedRuns(
  tx: Transaction,
  runs: readonly { run_id: string; status: string }[],
): void {
  tx.send(
    `UPDATE idempotency i SET status = g.status FROM unnest ($1::text[], $2::text[]) AS g (run_id, status)
      WHERE i.run_id = g.run_id`,
    [runs.map((run) => run.run_id), runs.map((run) => run.status)],
  );
}

/** Deletes expired keys, some at a time; keys that another transaction holds are deleted the next time. */
export async function sweepKeys(database: Database): Promise<void> {
  const isAny = async () => {
    const expired = await database.rowsByClock(
      ASKED,
      `SELECT 1 FROM idempotency WHERE expires_at <= ${NOW} ORDER BY expires_at LIMIT 1`,
    );
    return expired.length > 0;
  };
  let swept = SWEPT_AT_ONCE;
  while (swept === SWEPT_AT_ONCE && (await isAny())) {
    swept = await database.transaction(ASKED, async (tx) => {
      const gone = await tx.rows(
        `DELETE FROM idempotency WHERE ctid = ANY (ARRAY (
           SELECT ctid FROM idempotency WHERE expires_at <= $1
            ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
         RETURNING 1`,
        [tx.now, SWEPT_AT_ONCE],
      );
      return gone.length;
    });
  }
}

function nameOf({ owner, idempotency }: NewRun): string | undefined {
  return idempotency && JSON.stringify([owner, idempotency.key]);
}
