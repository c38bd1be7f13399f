/**
 * Keeps servers and the move of a store apart. Servers share the lock, each for as long as its connection for
 * announcements exists; a move holds it exclusively.
 */
import type pg from 'pg';

/** An arbitrary number that nobody else uses for a lock in this database. */
export const IN_USE_LOCK = 7_411_250_020;

/** Throws if the database is the source or the target of a move in progress. */
export async function joinServers(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock_shared($1) AS taken', [
    IN_USE_LOCK,
  ]);
  if (rows[0]?.taken !== true) {
    throw new Error('talaria migrate-store is working on it; start the server when that has ended');
  }
}
