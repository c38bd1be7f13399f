/**
 * The load of a server on its Postgres: statements and transaction ids of an idle server, its connections, and how much
 * an event adds to the database's log and tables.
 */
import pg from 'pg';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { tell } from './services.ts';

/** Longer than the slowest poll except the sweep, which runs once a minute. */
const IDLE_MS = 30_000;
const RUNS = 24;
const EVENTS_PER_RUN = 2_000;
const AT_ONCE = 20;
const EVENTS = RUNS * EVENTS_PER_RUN;

export async function servicesFootprint(stage: Stage): Promise<Row[]> {
  const postgres = await stage.postgres();
  const [idle, busy] = [await postgres.createDatabase(), await postgres.createDatabase()];
  await stage.server({ env: { TALARIA_DATABASE_URL: idle } });
  return [...(await ofIdleServer(idle)), ...(await ofEvents(stage, busy))];
}

async function ofIdleServer(url: string): Promise<Row[]> {
  await using database = await Watched.open(url);
  // After its start, because the database updates its counters with a delay.
  await pause(15_000);
  const before = await database.counts();
  await pause(IDLE_MS);
  const after = await database.counts();
  const perSecond = (from: number, to: number) => [(to - from) / (IDLE_MS / 1000)];
  const note = `of one server without runs, over ${IDLE_MS / 1000} s`;
  return [
    {
      what: 'idle server, statements',
      unit: '/s',
      better: 'less',
      ours: perSecond(before.statements, after.statements),
      note,
    },
    {
      what: 'idle server, transaction ids',
      unit: '/s',
      better: 'less',
      ours: perSecond(before.xid, after.xid),
      note,
    },
    {
      what: 'idle server, connections',
      unit: '',
      better: 'less',
      ours: [after.connections],
      note: 'it opens more when it has work; see docs/sizing.md',
    },
  ];
}

async function ofEvents(stage: Stage, url: string): Promise<Row[]> {
  const server = await stage.process('processes/journal-server.ts', [url]);
  await tell(server, { do: 'hold', runs: RUNS });
  await using database = await Watched.open(url);
  const before = await database.written();
  await tell(server, { do: 'append', events: EVENTS_PER_RUN, atOnce: AT_ONCE, marker: 'end' });
  const after = await database.written();
  const note = `${EVENTS} texts of 33 characters, ${AT_ONCE} at a time in ${RUNS} runs`;
  const perEvent = (from: number, to: number) => [(to - from) / EVENTS];
  return [
    {
      what: 'log of the database, of an event',
      unit: 'bytes',
      better: 'less',
      ours: perEvent(before.log, after.log),
      note,
    },
    {
      what: 'table and index, of an event',
      unit: 'bytes',
      better: 'less',
      ours: perEvent(before.records, after.records),
      note,
    },
  ];
}

/** A connection of its own, whose queries count as little as possible. */
class Watched implements AsyncDisposable {
  readonly #client: pg.Client;

  static async open(url: string): Promise<Watched> {
    const client = new pg.Client(url);
    await client.connect();
    return new Watched(client);
  }

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  async counts(): Promise<{ statements: number; xid: number; connections: number }> {
    const { rows } = await this.#client.query(
      `SELECT xact_commit::float AS statements, pg_snapshot_xmax(pg_current_snapshot())::text::float AS xid,
              (SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid())::integer AS connections
         FROM pg_stat_database WHERE datname = current_database()`,
    );
    return rows[0];
  }

  async written(): Promise<{ log: number; records: number }> {
    const { rows } = await this.#client.query(
      `SELECT (pg_current_wal_insert_lsn() - '0/0')::float AS log, pg_total_relation_size('records')::float AS records`,
    );
    return rows[0];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#client.end();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
