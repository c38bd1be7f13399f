/**
 * A connection to the server that accepts writes. The URL may name several hosts: a primary, and those that may replace
 * it. They are tried in turn. A standby, or any other server that accepts no writes, counts as unavailable, also for
 * reads: its data may be stale.
 *
 * A connection whose other end has vanished silently is given up: the system finds an idle one by keep-alives, and one
 * with a statement in progress ends when the statement takes too long.
 */
import pg from 'pg';
import { eachHost } from '../../network/postgres-hosts.ts';
import { Away, inWords, isAway } from './failures.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_PROBE_MS = 10_000;
/** A server that stalls in the middle of a transaction would block the others from the rows it has locked. */
const IDLE_MS = 5_000;
/**
 * After waiting for a lock, a statement must see what the transaction before has written, also if the database has
 * another default.
 */
const ISOLATION = 'read committed';
/** Far longer than any statement takes, including the wait for another transaction. */
export const ANSWER_MS = 30_000;

const HISTORY = `SELECT (SELECT system_identifier FROM pg_control_system())
  || ' ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS history,
  (SELECT stats_reset::text FROM pg_stat_bgwriter) AS crash`;

/** Counts and times fit into a number; as text, the library's default, they would not compare. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    id === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(id, format as 'text'),
};

/** Chooses the host to which the next connection is tried. */
export class Hosts {
  readonly #addresses: readonly string[];
  #next = 0;

  constructor(address: string) {
    this.#addresses = eachHost(address);
  }

  get next(): string {
    return this.#addresses[this.#next]!;
  }

  /** Once, however many callers find at the same time that nothing is reachable. */
  passOver(address: string): void {
    if (address === this.next) this.#next = (this.#next + 1) % this.#addresses.length;
  }
}

export interface ConnectionOptions {
  hosts: Hosts;
  /** How long a transaction may wait for its next statement before the database undoes it. */
  idleMs?: number | undefined;
}

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

export class Connection extends pg.Client {
  readonly #hosts: Hosts;
  readonly #address: string;
  readonly #idleMs: number;
  #history = '';
  #crash = '';

  constructor({ hosts, idleMs = IDLE_MS }: ConnectionOptions) {
    const address = hosts.next;
    super({
      connectionString: address,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: IDLE_PROBE_MS,
      application_name: 'talaria',
      // The writes of a transaction are sent together with its commit: one round trip, however many statements.
      pipeline: true,
      types,
    });
    this.#hosts = hosts;
    this.#address = address;
    this.#idleMs = idleMs;
    // A connection lost between statements is reported here; the next statement on it fails.
    this.on('error', () => {});
  }

  /** Identifies the history of the database: transactions of another history have the same ids. */
  get history(): string {
    return this.#history;
  }

  /**
   * Changes whenever the server recovers from a crash, of itself or of one of its processes: then it begins its statistics anew.
   * Ids of transactions whose commit had not reached the disk are given to others afterwards.
   */
  get crash(): string {
    return this.#crash;
  }

  /** Within it an id means one transaction, whether its commit is on the disk or not. */
  get era(): string {
    return `${this.#history} ${this.#crash}`;
  }

  /** In one system call, so that the server can read it in one. */
  sendTogether<T>(send: () => T): T {
    const { stream } = this.connection;
    stream.cork();
    try {
      return send();
    } finally {
      stream.uncork();
    }
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const connected = this.#connect();
    if (callback === undefined) return connected;
    const done = callback as (error: Error | null, client?: pg.Client) => void;
    connected.then(() => done(null, this), done);
    return undefined;
  }

  async #connect(): Promise<pg.Client> {
    try {
      await super.connect();
      const { rows } = await this.query<{ standby: boolean; read_only: string }>(
        `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS read_only,
                set_config('idle_in_transaction_session_timeout', $1, false),
                set_config('default_transaction_isolation', $2, false)`,
        [String(this.#idleMs), ISOLATION],
      );
      const { standby, read_only: readOnly } = rows[0]!;
      if (standby) throw new Away(`${this.host}:${this.port} is a standby, which takes no writes`);
      if (readOnly === 'on') throw new Away(`${this.host}:${this.port} takes no writes (read-only)`);
      await this.#askHistory();
      return this;
    } catch (error) {
      this.#hosts.passOver(this.#address);
      this.end().catch(() => {});
      throw inWords(error);
    }
  }

  /** Both stay the same for as long as the connection lasts: a restart and a crash end it. */
  async #askHistory(): Promise<void> {
    try {
      const { rows } = await this.query<{ history: string; crash: string | null }>(HISTORY);
      this.#history = rows[0]!.history;
      this.#crash = rows[0]!.crash ?? '';
    } catch (error) {
      // Some providers do not tell, for example those whose servers share their storage: there a failover loses
      // nothing.
      if (!(error instanceof pg.DatabaseError) || isAway(error)) throw error;
    }
  }
}
