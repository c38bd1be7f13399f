/**
 * A connection for the move of a store (`../moving/store-ends.ts`), which holds the lock that keeps servers out.
 *
 * There is one, and it is not replaced when it is lost: the lock would be lost with it, and another process might have
 * written meanwhile. The command ends, and running the same command again continues.
 */
import pg from 'pg';
import { eachHost } from '../../network/postgres-hosts.ts';
import { MoveRefusedError } from '../moving/store-ends.ts';
import type { Transaction } from './database.ts';
import { inWords } from './failures.ts';
import { IN_USE_LOCK } from './in-use.ts';

const CONNECT_TIMEOUT_MS = 10_000;

export class MoveConnection implements Pick<Transaction, 'rows'> {
  readonly #client: pg.Client;
  #lost: Error | undefined;

  /**
   * `role` is that of the database in the move. Of several hosts it uses the first that accepts writes: a standby may
   * lag behind.
   */
  static async open(url: string, role: 'source' | 'target'): Promise<MoveConnection> {
    let reason: unknown;
    for (const address of eachHost(url)) {
      const client = new pg.Client({
        connectionString: address,
        application_name: 'talaria migrate-store',
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        keepAlive: true,
      });
      const connection = new MoveConnection(client);
      try {
        await client.connect();
        await connection.#expectPrimary();
        await connection.#takeLock(role);
        return connection;
      } catch (error) {
        await client.end().catch(() => {});
        if (error instanceof MoveRefusedError) throw error;
        reason = inWords(error);
      }
    }
    throw reason;
  }

  private constructor(client: pg.Client) {
    this.#client = client;
    // A connection lost between statements is reported here, and by the next statement.
    client.on('error', (error) => {
      this.#lost ??= error;
    });
  }

  async rows<T extends object>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    const { rows } = await this.#query(() =>
      this.#client.query<T & pg.QueryResultRow>({ text: sql, values: [...values] }),
    );
    return rows;
  }

  /** Rows as arrays of column values; `name` is the name of a statement that is planned once. */
  async arrays<T extends unknown[]>(
    name: string,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<T[]> {
    const { rows } = await this.#query(() =>
      this.#client.query<T>({ name, text: sql, values: [...values], rowMode: 'array' }),
    );
    return rows;
  }

  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.rows('BEGIN');
    try {
      const result = await work();
      await this.rows('COMMIT');
      return result;
    } catch (error) {
      await this.rows('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  async end(): Promise<void> {
    await this.#client.end().catch(() => {});
  }

  async #expectPrimary(): Promise<void> {
    const [row] = await this.rows<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
    if (row?.standby === true) throw new Error('it is a standby, which takes no writes');
  }

  async #takeLock(role: 'source' | 'target'): Promise<void> {
    const [lock] = await this.rows<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
      IN_USE_LOCK,
    ]);
    if (lock?.taken === true) return;
    throw new MoveRefusedError(
      `The ${role} is in use: stop its servers first, or wait for another talaria migrate-store to end`,
    );
  }

  async #query<T>(query: () => Promise<T>): Promise<T> {
    try {
      return await query();
    } catch (error) {
      throw this.#lost ?? error;
    }
  }
}
