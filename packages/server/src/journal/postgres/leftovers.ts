/**
 * Deletes what is left of deleted runs and sessions. Either can be very long: its row is deleted at once, for
 * everybody, and its records or messages follow, some at a time, each time in a transaction of its own. So nothing
 * waits long for a lock, and no transaction is open so long that the database could not vacuum.
 *
 * A leftover is recorded in the transaction that deletes the row, so that the next server that clears finds what a dead
 * server left. Servers that clear at the same time take different leftovers.
 */
import { ASKED, type Database, type Transaction } from './database.ts';

/** Which table holds the remaining rows, and which column refers to what was deleted. */
export const LEFTOVER_TABLES = {
  run: { table: 'records', key: 'run' },
  session: { table: 'session_messages', key: 'session' },
} as const;

/** How much one transaction deletes: a few milliseconds, unless the rows are large. */
const ROWS_MAX = 1_000;
/** How many runs or sessions one transaction clears. */
const OWNERS_MAX = 20;

export interface Leftover {
  of: keyof typeof LEFTOVER_TABLES;
  n: number;
  /** Rows at positions from here on are gone. */
  up_to: number;
}

/** Part of the transaction that deletes their row. */
export function leave(tx: Transaction, leftovers: readonly Leftover[]): void {
  tx.send(
    'INSERT INTO leftovers ("of", n, up_to) SELECT * FROM unnest ($1::text[], $2::bigint[], $3::integer[])',
    [leftovers.map((left) => left.of), leftovers.map(({ n }) => n), leftovers.map((left) => left.up_to)],
  );
}

/** Resolves when nothing is left, except what others are clearing at the moment. */
export async function clearLeftovers(database: Database): Promise<void> {
  while ((await database.rows(ASKED, 'SELECT 1 FROM leftovers LIMIT 1')).length > 0) {
    if (!(await database.transaction(ASKED, clearSome))) return;
  }
}

async function clearSome(tx: Transaction): Promise<boolean> {
  const found = await tx.rows<Leftover>(
    'SELECT "of", n, up_to FROM leftovers ORDER BY "of", n LIMIT $1 FOR UPDATE SKIP LOCKED',
    [OWNERS_MAX],
  );
  let room = ROWS_MAX;
  for (const { of, n, up_to: upTo } of found) {
    if (room === 0) break;
    const from = Math.max(0, upTo - room);
    const { table, key } = LEFTOVER_TABLES[of];
    tx.send(`DELETE FROM ${table} WHERE ${key} = $1 AND pos >= $2 AND pos < $3`, [n, from, upTo]);
    if (from === 0) tx.send('DELETE FROM leftovers WHERE "of" = $1 AND n = $2', [of, n]);
    else tx.send('UPDATE leftovers SET up_to = $3 WHERE "of" = $1 AND n = $2', [of, n, from]);
    room -= upTo - from;
  }
  return found.length > 0;
}
