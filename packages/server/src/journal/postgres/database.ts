/**
 * Connections to Postgres, and transactions that survive the loss of their connection.
 *
 * A transaction is a function of its connection. If the connection is lost before the commit was sent, nothing has
 * happened, and the function runs again on another connection. If it is lost after, we do not know the outcome, but the
 * database does: it is asked for the status of the transaction (`pg_xact_status`), and the function runs again only if
 * the transaction did not happen. So a function may run several times, but its writes happen once.
 *
 * While the database is unavailable, a call waits for as long as its caller allows, and is then refused with
 * `store_unavailable`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { TalariaError } from '@talaria/protocol';
import pg from 'pg';
import { atMost } from '../../basics/at-most.ts';
import { ANSWER_MS, Connection, Hosts } from './connection.ts';
import { Away, isAway, isConflict, isConnectionLoss, isStale, isUnanswered } from './failures.ts';
import { toQuery } from './prepared.ts';

const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 2_000;
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_MAX_MS = 24 * 3600 * 1000;
/** How long work in progress may take at the end; it may wait for a lock, or for an answer that never comes. */
const CLOSE_MS = 1_000;

/** What `pg_xact_status` says about an id that is yet to come: an invalid parameter. */
const IN_THE_FUTURE = '22023';

const UNKNOWN =
  'The connection to the database was lost during a write; whether the write happened is unknown';

/**
 * The store's time in a statement for `rowsByClock`. It is the same throughout the statement, so that an index can be
 * searched by it.
 */
export const NOW = 'coalesce($1::bigint, (extract(epoch FROM statement_timestamp()) * 1000)::bigint)';

export interface Patience {
  /** How long to wait for a database that is unavailable. */
  waitMs: number;
  /** How long a single statement may take, where it may take longer than usual. */
  answerMs?: number;
}

/** Somebody waits for the answer and can retry. */
export const ASKED: Patience = { waitMs: 5_000 };
/** A late answer is worth nothing. */
export const NOW_OR_NEVER: Patience = { waitMs: 0 };
/** Somebody asks whether the store is available: short, but longer than it takes to replace a lost connection. */
export const PROBE: Patience = { waitMs: 1_000 };
/** Somebody follows a stream, and would rather hear nothing for a while than start again. */
export const WATCHING: Patience = { waitMs: 60_000 };
/** A change of all tables, by us or by another server that we wait for. A database that starts beside us needs some time, too. */
export const MIGRATION: Patience = { waitMs: 10_000, answerMs: ANSWER_MAX_MS };
/** The work on a run waits for the database for as long as it takes; its lease decides whether it may continue. */
export const WORK: Patience = { waitMs: Number.POSITIVE_INFINITY };

/** The database has answered, and refuses the statement: nothing has happened, and a retry would not help. */
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
  /** Sends without waiting for the answer, which arrives before that of whatever is sent next. */
  send(sql: string, values?: readonly unknown[]): void;
}

export interface Statement {
  sql: string;
  values: readonly unknown[];
}

export interface DatabaseOptions {
  url: string;
  connections: number;
  /** The store's clock, in ms; the database's own unless a test has one. */
  now?: (() => number) | undefined;
  /** How long a transaction may wait for its next statement before the database undoes it; it runs again. */
  idleMs?: number | undefined;
}

export class Database {
  readonly hosts: Hosts;
  readonly #pool: pg.Pool;
  readonly #now: (() => number) | undefined;
  readonly #closing = new AbortController();
  #lastError: { message: string; at: number } | null = null;
  #reached = false;
  #closed: Promise<void> | undefined;

  constructor({ url, connections, now, idleMs }: DatabaseOptions) {
    this.#now = now;
    const hosts = new Hosts(url);
    this.hosts = hosts;
    this.#pool = new pg.Pool({
      Client: class extends Connection {
        constructor() {
          super({ hosts, idleMs });
        }
      },
      max: connections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
    // A lost idle connection is replaced when one is needed.
    this.#pool.on('error', (error) => this.#remember(error));
  }

  get lastError(): { message: string; at: number } | null {
    return this.#lastError;
  }

  /** A single reading statement: no transaction, and no transaction id that the database would have to keep. */
  async rows<T extends object>(
    patience: Patience,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<T[]> {
    return (await this.rowsWithEra<T>(patience, sql, values)).rows;
  }

  /** A single reading statement, and the era of the database that it was about (`Connection.era`). */
  async rowsWithEra<T extends object>(
    { waitMs, answerMs }: Patience,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<{ rows: T[]; era: string }> {
    return this.#persist(waitMs, () =>
      this.#use(async (client) => ({
        rows: await ask<T>(client, sql, values, answerMs),
        era: client.era,
      })),
    );
  }

  /** A single reading statement that uses `NOW`; its own parameters begin at `$2`. */
  rowsByClock<T extends object>(
    patience: Patience,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<T[]> {
    return this.rows<T>(patience, sql, [this.#now?.() ?? null, ...values]);
  }

  /** `first` is sent in one round trip with the beginning of the transaction; `work` gets its rows. */
  async transaction<T, Row extends object = never>(
    { waitMs, answerMs = ANSWER_MS }: Patience,
    work: (tx: Transaction, rows: Row[]) => Promise<T>,
    first?: Statement,
  ): Promise<T> {
    let inDoubt: (Begun & { result: T }) | undefined;
    let readyToWaitMs = answerMs;
    try {
      return await this.#persist(waitMs, async () => {
        if (inDoubt !== undefined) {
          if (await this.#hasHappened(inDoubt)) return inDoubt.result;
          inDoubt = undefined;
        }
        const attempt = this.#attempt(readyToWaitMs, work, first, (doubt) => {
          inDoubt = doubt;
        });
        return await attempt.catch((error) => {
          // Otherwise a statement that takes longer than expected would be retried forever.
          if (isUnanswered(error)) readyToWaitMs = Math.min(readyToWaitMs * 2, ANSWER_MAX_MS);
          throw error;
        });
      });
    } catch (error) {
      const unknown = inDoubt !== undefined && error instanceof TalariaError;
      throw unknown ? new TalariaError('store_unavailable', { message: UNKNOWN, cause: error.cause }) : error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new TalariaError('store_unavailable', { message: 'The store is closed' }));
    this.#closed ??= atMost(CLOSE_MS, this.#pool.end());
    await this.#closed;
  }

  /** One attempt. Reports when the outcome begins to depend on whether a sent commit has happened. */
  #attempt<T, Row extends object>(
    answerMs: number,
    work: (tx: Transaction, rows: Row[]) => Promise<T>,
    first: Statement | undefined,
    setDoubt: (doubt: (Begun & { result: T }) | undefined) => void,
  ): Promise<T> {
    return this.#use(async (client) => {
      try {
        const opening = client.sendTogether(
          () =>
            [
              begin(client, answerMs),
              first === undefined ? [] : ask<Row>(client, first.sql, first.values, answerMs),
            ] as const,
        );
        const [begun, rows] = await Promise.all(opening);
        const tx = new OpenTransaction(client, answerMs, this.#now?.() ?? begun.now);
        const result = await work(tx, rows).finally(() => tx.end());
        setDoubt({ ...begun, result });
        await tx.commit();
        return result;
      } catch (error) {
        if (!isConnectionLoss(error)) {
          // The database has answered, so the outcome is known: nothing has happened.
          setDoubt(undefined);
          await client.query('ROLLBACK').catch(() => {});
        }
        throw error;
      }
    });
  }

  /** A connection to an unavailable database is given up: the next one may reach its replacement. So is a stale one. */
  async #use<T>(work: (client: PooledConnection) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let useless: Error | undefined;
    try {
      return await work(client);
    } catch (error) {
      if (isAway(error) || isStale(error)) useless = error as Error;
      throw error;
    } finally {
      client.release(useless);
    }
  }

  async #connect(): Promise<PooledConnection> {
    try {
      const client = (await this.#pool.connect()) as PooledConnection;
      this.#reached = true;
      return client;
    } catch (error) {
      // A role that was let in once may retry: its name or password is being changed.
      if (this.#reached || isAway(error)) throw new Away((error as Error).message, { cause: error });
      throw new TalariaError('store_unavailable', { cause: error });
    }
  }

  /** Retries until it works, fails for good, or the time is over. */
  async #persist<T>(waitMs: number, attempt: () => Promise<T>): Promise<T> {
    const until = performance.now() + waitMs;
    for (let pause = RETRY_MIN_MS; ; pause = Math.min(pause * 2, RETRY_MAX_MS)) {
      this.#closing.signal.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof TalariaError) throw error;
        this.#closing.signal.throwIfAborted();
        const [conflict, away] = [isConflict(error) || isStale(error), isAway(error)];
        if (!conflict && (away || error instanceof pg.DatabaseError)) this.#remember(error as Error);
        if (!conflict && !away) {
          throw error instanceof pg.DatabaseError ? new StatementRefused(error) : error;
        }
        const leftMs = until - performance.now();
        if (leftMs <= 0) throw new TalariaError('store_unavailable', { cause: error });
        // The database reports a conflict only after this transaction has waited for the other, so it retries at once.
        if (conflict) continue;
        await delay(Math.min(leftMs, pause * (0.5 + Math.random() / 2)), undefined, {
          signal: this.#closing.signal,
        }).catch(() => {});
      }
    }
  }

  /**
   * After a failover the database does not know transactions that were not copied in time, and gives their ids to
   * others. Then nobody can tell; the caller has to look for its writes, as after a crash of its own. After a crash of the
   * database the same holds for an id that is committed; one that is not has no commit on the disk, whoever has it now.
   */
  async #hasHappened({ xid, history, crash }: Begun): Promise<boolean> {
    const { status, hasCrashed } = await this.#use(async (client) => ({
      status: client.history === history ? await statusOf(client, xid) : undefined,
      hasCrashed: client.crash !== crash,
    }));
    if (hasCrashed && status !== undefined && status !== null && status !== 'committed') return false;
    if (hasCrashed) throw new TalariaError('store_unavailable', { message: UNKNOWN });
    if (status === 'in progress') throw new Away('The other end of a lost connection is still at its commit');
    if (status !== 'committed' && status !== 'aborted') {
      throw new TalariaError('store_unavailable', { message: UNKNOWN });
    }
    return status === 'committed';
  }

  #remember(error: Error): void {
    this.#lastError = { message: error.message, at: Date.now() };
  }
}

/** A connection of the pool, which creates objects of our class `Connection`. */
type PooledConnection = pg.PoolClient & Connection;

/** Prepared, like every repeated statement (`prepared.ts`). */
const BEGUN = {
  name: 'talaria_begun',
  text: 'SELECT pg_current_xact_id()::text AS xid, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
};

interface Begun {
  xid: string;
  history: string;
  crash: string;
  now: number;
}

async function begin(client: PooledConnection, answerMs: number): Promise<Begun> {
  const begun: TimedQuery = { ...BEGUN, query_timeout: answerMs };
  const [, { rows }] = await Promise.all([
    ask(client, 'BEGIN', [], answerMs),
    client.query<Omit<Begun, 'history' | 'crash'>>(begun),
  ]);
  return { ...rows[0]!, history: client.history, crash: client.crash };
}

/** Null if it is forgotten; `not begun` if the database has not given the id to anybody yet. */
async function statusOf(client: PooledConnection, xid: string): Promise<string | null | undefined> {
  try {
    const [row] = await ask<{ status: string | null }>(client, 'SELECT pg_xact_status($1::xid8) AS status', [
      xid,
    ]);
    return row?.status;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === IN_THE_FUTURE) return 'not begun';
    throw error;
  }
}

/** The library accepts this, but its types do not say so. */
interface TimedQuery extends pg.QueryConfig {
  query_timeout?: number | undefined;
}

async function ask<T extends object>(
  client: pg.PoolClient,
  text: string,
  values: readonly unknown[],
  answerMs?: number,
): Promise<T[]> {
  const query: TimedQuery = { ...toQuery(text, values), query_timeout: answerMs };
  const { rows } = await client.query<T & pg.QueryResultRow>(query);
  return rows;
}

class OpenTransaction implements Transaction {
  readonly now: number;
  readonly #client: pg.PoolClient;
  readonly #answerMs: number;
  readonly #sent: Promise<unknown>[] = [];
  #failure: unknown;
  #over = false;

  constructor(client: pg.PoolClient, answerMs: number, now: number) {
    this.#client = client;
    this.#answerMs = answerMs;
    this.now = now;
  }

  async rows<T extends object>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    this.#expectOpen();
    try {
      return await this.#ask<T>(sql, values);
    } catch {
      // Every statement after the first failure fails, too, and its error says only that.
      throw this.#failure;
    }
  }

  send(sql: string, values: readonly unknown[] = []): void {
    this.#expectOpen();
    const answer = this.#ask(sql, values);
    // Its failure is checked by the next statement, at the latest by `commit`.
    answer.catch(() => {});
    this.#sent.push(answer);
  }

  /**
   * The work has ended. If one part of it failed, others may still be waiting for answers: a statement that they send
   * then would be outside of the transaction, on a connection that somebody else may have by now.
   */
  end(): void {
    this.#over = true;
  }

  /**
   * A failed statement has undone the transaction, even if the work ignored the failure: the database then answers the
   * commit with a rollback, not with an error. The failed statement's error says more than that.
   */
  async commit(): Promise<void> {
    const committed = this.#client.query('COMMIT');
    committed.catch(() => {});
    await Promise.all(this.#sent);
    const { command } = await committed;
    if (command !== 'COMMIT') throw this.#failure ?? new Error(`The commit was answered with ${command}`);
  }

  #expectOpen(): void {
    if (this.#over) throw new Error('Expected a statement before the end of its transaction; it came after');
  }

  async #ask<T extends object>(sql: string, values: readonly unknown[]): Promise<T[]> {
    try {
      return await ask<T>(this.#client, sql, values, this.#answerMs);
    } catch (error) {
      this.#failure ??= error;
      throw error;
    }
  }
}
