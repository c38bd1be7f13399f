/**
 * Connections to Postgres, and transactions that outlive their loss.
 *
 * A transaction is given as a function of its connection. When the connection is lost before the commit was asked for,
 * nothing has happened and the function runs again on another connection. When it is lost after, the outcome is
 * unknown to us but not to the database: it is asked what became of the transaction (`pg_xact_status`), and only one
 * that did not happen runs again. So a function may run several times, but its writes happen once.
 *
 * While the database is away, a call waits for as long as its caller said it would, and is refused with
 * `store_unavailable` after that.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { TalariaError } from '@talaria/protocol';
import pg from 'pg';
import { failpoint } from '../../failpoints.ts';
import { toParameters } from './parameters.ts';

const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 2_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** A server that stands still in the middle of a transaction would keep the others from the rows it has locked. */
const IDLE_MS = 5_000;

/** Counts and times fit into a number; as text, which is the library's default, they would not compare. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    id === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(id, format as 'text'),
};

/**
 * The store's time in a statement for `rowsByClock`. It is the same throughout the statement, so that an index can be
 * searched by it.
 */
export const NOW = 'coalesce($1::bigint, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)';

export interface Patience {
  /** How long to wait for a database that is away. */
  waitMs: number;
}

/** Somebody waits for the answer and can ask again. */
export const ASKED: Patience = { waitMs: 5_000 };
/** An answer that comes late is worth nothing. */
export const NOW_OR_NEVER: Patience = { waitMs: 0 };
/** The work on a run waits for the database for as long as it takes; its lease decides whether it may go on. */
export const WORK: Patience = { waitMs: Number.POSITIVE_INFINITY };

/** The database has answered, and what it was given it will not take: nothing has happened, and trying again is no use. */
export class StatementRefused extends TalariaError {
  constructor(cause: unknown) {
    super('store_unavailable', { cause });
  }
}

/** One connection inside a transaction. */
export interface Transaction {
  /** When it began, by the store's clock. */
  readonly now: number;
  rows<T extends object>(sql: string, values?: readonly unknown[]): Promise<T[]>;
  /** Sends without waiting for the answer, which comes before that of whatever is sent next. */
  send(sql: string, values?: readonly unknown[]): void;
}

export interface DatabaseOptions {
  url: string;
  connections: number;
  /** The store's clock, in ms; the database's own unless a test has one. */
  now?: (() => number) | undefined;
  /** How long a transaction may wait for its next statement before the database undoes it; it runs again. */
  idleMs?: number;
}

export class Database {
  readonly #pool: pg.Pool;
  readonly #now: (() => number) | undefined;
  readonly #idleMs: number;
  readonly #closing = new AbortController();
  #lastError: { message: string; at: number } | null = null;
  #closed: Promise<void> | undefined;

  constructor({ url, connections, now, idleMs = IDLE_MS }: DatabaseOptions) {
    this.#now = now;
    this.#idleMs = idleMs;
    this.#pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      application_name: 'talaria',
      keepAlive: true,
      // What a transaction writes is sent together with its commit: one round trip, however many statements.
      pipeline: true,
      types,
    });
    // An idle connection that is lost is replaced when one is needed.
    this.#pool.on('error', (error) => this.#remember(error));
  }

  get lastError(): { message: string; at: number } | null {
    return this.#lastError;
  }

  /** A single statement that reads: no transaction, and no transaction id that the database would have to keep. */
  async rows<T extends object>(
    { waitMs }: Patience,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<T[]> {
    return this.#persist(waitMs, async () => {
      const { rows } = await this.#pool.query<T & pg.QueryResultRow>(sql, toParameters(values));
      return rows;
    });
  }

  /** A single statement that reads and says `NOW`; its own values begin at `$2`. */
  rowsByClock<T extends object>(
    patience: Patience,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<T[]> {
    return this.rows<T>(patience, sql, [this.#now?.() ?? null, ...values]);
  }

  async transaction<T>({ waitMs }: Patience, work: (tx: Transaction) => Promise<T>): Promise<T> {
    let inDoubt: { xid: string; result: T } | undefined;
    return this.#persist(waitMs, async () => {
      if (inDoubt !== undefined) {
        const { xid, result } = inDoubt;
        if (await this.#hasHappened(xid)) return result;
        inDoubt = undefined;
      }
      const client = await this.#pool.connect();
      let broken: Error | undefined;
      // Between statements a lost connection is reported here, and by the next statement.
      const noteBroken = (error: Error): void => {
        broken = error;
      };
      client.on('error', noteBroken);
      try {
        const [, , begun] = (await client.query(
          `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${this.#idleMs};
           SELECT pg_current_xact_id()::text AS xid,
                         (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`,
        )) as unknown as pg.QueryResult<{ xid: string; now: number }>[];
        const { xid, now } = begun!.rows[0]!;
        const tx = new OpenTransaction(client, this.#now?.() ?? now);
        const result = await work(tx);
        inDoubt = { xid, result };
        if (tx.writes) failpoint('journal.before-commit');
        await tx.commit();
        if (tx.writes) failpoint('journal.after-commit');
        return result;
      } catch (error) {
        if (isConnectionLoss(error)) broken ??= error as Error;
        else {
          // The database has answered, so the outcome is known: nothing has happened.
          inDoubt = undefined;
          await client.query('ROLLBACK').catch(noteBroken);
        }
        throw error;
      } finally {
        client.off('error', noteBroken);
        client.release(broken);
      }
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(new TalariaError('store_unavailable', { message: 'The store is closed' }));
    this.#closed ??= this.#pool.end();
    await this.#closed;
  }

  /** Tries until it works, fails for good, or the time is over. */
  async #persist<T>(waitMs: number, attempt: () => Promise<T>): Promise<T> {
    const until = performance.now() + waitMs;
    for (let pause = RETRY_MIN_MS; ; pause = Math.min(pause * 2, RETRY_MAX_MS)) {
      this.#closing.signal.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof TalariaError) throw error;
        this.#closing.signal.throwIfAborted();
        if (isConflict(error)) continue;
        const away = isAway(error);
        if (away || error instanceof pg.DatabaseError) this.#remember(error as Error);
        if (!away) throw error instanceof pg.DatabaseError ? new StatementRefused(error) : error;
        const leftMs = until - performance.now();
        if (leftMs <= 0) throw new TalariaError('store_unavailable', { cause: error });
        await delay(Math.min(leftMs, pause * (0.5 + Math.random() / 2)), undefined, {
          signal: this.#closing.signal,
        }).catch(() => {});
      }
    }
  }

  /** Waits until the database knows: the connection's other end may still be at it. */
  async #hasHappened(xid: string): Promise<boolean> {
    for (;;) {
      const { rows } = await this.#pool.query<{ status: string | null }>(
        'SELECT pg_xact_status($1::xid8) AS status',
        [xid],
      );
      const status = rows[0]?.status;
      if (status === 'committed') return true;
      if (status === 'aborted') return false;
      if (status !== 'in progress') {
        throw new TalariaError('store_unavailable', {
          message: 'The database cannot tell whether a write has happened',
        });
      }
      await delay(RETRY_MIN_MS);
    }
  }

  #remember(error: Error): void {
    this.#lastError = { message: error.message, at: Date.now() };
  }
}

class OpenTransaction implements Transaction {
  readonly now: number;
  readonly #client: pg.PoolClient;
  readonly #sent: Promise<unknown>[] = [];
  #failure: unknown;

  constructor(client: pg.PoolClient, now: number) {
    this.#client = client;
    this.now = now;
  }

  /** Whether there is something to commit, as far as it was sent. */
  get writes(): boolean {
    return this.#sent.length > 0;
  }

  async rows<T extends object>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    try {
      const { rows } = await this.#client.query<T & pg.QueryResultRow>(sql, toParameters(values));
      return rows;
    } catch (error) {
      this.#failure ??= error;
      throw error;
    }
  }

  send(sql: string, values: readonly unknown[] = []): void {
    const answer = this.#client.query(sql, toParameters(values));
    // Its failure is looked at by `commit`.
    answer.catch(() => {});
    this.#sent.push(answer);
  }

  /**
   * A statement that failed has undone the transaction, also when the work made nothing of it: the database answers the
   * commit with a rollback then, and not with an error. What failed says more than that.
   */
  async commit(): Promise<void> {
    const committed = this.#client.query('COMMIT');
    committed.catch(() => {});
    await Promise.all(this.#sent);
    const { command } = await committed;
    if (command !== 'COMMIT') throw this.#failure ?? new Error(`The commit was answered with ${command}`);
  }
}

/** Two transactions were in each other's way and the database chose this one to begin again. */
function isConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01');
}

function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return isNetworkError(error);
  // 08: connection exception; 57P0x: the server shuts down, has crashed, or is starting; 25P03: idle for too long.
  return /^(08|57P0|25P03)/.test(error.code ?? '');
}

/** The database cannot be written to now, but it may be soon: it is away, starting, full of connections, or a standby. */
function isAway(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return isNetworkError(error);
  return /^(08|57P0|25P03|53300|25006)/.test(error.code ?? '');
}

function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return (
    (typeof code === 'string' && /^E[A-Z]+$/.test(code)) ||
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered/.test(error.message)
  );
}
