/** A primary that is lost and a standby that replaces it, both real. */
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claimedRun, delta } from '../testing/records.ts';
import { Database, type Patience } from './database.ts';
import { PostgresJournal } from './postgres-journal.ts';
import { CuttingProxy } from './testing/cutting-proxy.ts';
import { startPostgres, type TestPostgres, type TestStandby } from './testing/start-postgres.ts';

const PATIENT: Patience = { waitMs: 20_000 };

let primary: TestPostgres;
let standby: TestStandby;
/** The URL of the primary, of the standby, and one that names both, with the standby first. */
let url: { primary: string; standby: string; both: string };

async function startPair(follows: boolean): Promise<void> {
  primary = await startPostgres();
  const made = await primary.createDatabase();
  standby = await primary.startStandby({ follows });
  const there = new URL(standby.urlOf(made));
  const both = made.replace('@', `@${there.host},`);
  url = { primary: made, standby: there.href, both };
}

async function stopPair(): Promise<void> {
  await standby?.stop();
  await primary?.stop();
}

describe('with a standby that follows', () => {
  beforeAll(() => startPair(true));
  afterAll(stopPair);

  it('only the primary is used, wherever it is in the URL', async () => {
    await expect(PostgresJournal.open({ url: url.standby })).rejects.toThrow(/is a standby/);
    const database = new Database({ url: url.both, connections: 2 });
    const rows = await database.rows(PATIENT, 'SELECT pg_is_in_recovery() AS standby');
    expect(rows).toEqual([{ standby: false }]);
    await database.close();
  });

  it('the work continues on the standby after its promotion, with every event once', async () => {
    const journal = await PostgresJournal.open({ url: url.both });
    try {
      const claim = await claimedRun(journal);
      const texts = Array.from({ length: 60 }, (_, i) => `${i} `);
      const inLog = async () => {
        const events = await journal.readEvents(claim.runId, -1, 1000);
        return events.map(({ payload }) => (JSON.parse(payload) as { delta: string }).delta);
      };
      let lost: Promise<void> | undefined;
      for (const [i, text] of texts.entries()) {
        if (i === 20) lost = primary.kill().then(() => standby.promote());
        // Nobody can tell the outcome of a commit that was in progress; as after a crash, the log is read.
        await journal.append(claim, [delta(text)]).catch(async (error) => {
          expect(error).toMatchObject({ code: 'store_unavailable' });
          if ((await inLog()).at(-1) !== text) await journal.append(claim, [delta(text)]);
        });
      }
      await lost;
      expect(await inLog()).toEqual(texts);
      expect(await journal.checkHealth()).toMatchObject({ writable: true });
    } finally {
      await journal.close();
    }
  });
});

it('a commit that the standby never got is not confused with another one of the same id', async () => {
  await startPair(false);
  const proxy = await CuttingProxy.to(url.primary);
  const database = new Database({ url: proxy.url, connections: 1 });
  try {
    let id = 0n;
    // Whoever could connect again before the primary is lost would hear of the commit.
    proxy.cutNext({ when: 'COMMIT', forward: true, last: true });
    const lost = database.transaction(PATIENT, async (tx) => {
      const [row] = await tx.rows<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
      id = BigInt(row!.xid);
      tx.send('CREATE TABLE lost ()');
    });
    const unknown = expect(lost).rejects.toThrow(/is unknown/);
    await expect.poll(() => proxy.cuts).toBe(1);
    await proxy.stop();
    await primary.kill();
    await standby.promote();
    await useId(url.standby, id);
    await proxy.startTo(url.standby);
    await unknown;
  } finally {
    await database.close();
    await proxy.close();
    await stopPair();
  }
});

describe('after a crash of the database', () => {
  let direct: string;
  let proxy: CuttingProxy;
  let database: Database;

  beforeEach(async () => {
    primary = await startPostgres();
    direct = await primary.createEmptyDatabase();
    proxy = await CuttingProxy.to(direct);
    database = new Database({ url: proxy.url, connections: 1 });
  });
  afterEach(async () => {
    await database.close();
    await proxy.close();
    await primary.stop();
  });

  /** A transaction whose commit the database never gets, and whose id it does not know when it is back. */
  async function loseCommit(): Promise<{
    outcome: Promise<unknown>;
    id: bigint;
    restarted(): Promise<void>;
  }> {
    let id: bigint | undefined;
    proxy.cutNext({ when: 'COMMIT', forward: false, last: true });
    const outcome = database.transaction(PATIENT, async (tx) => {
      const [row] = await tx.rows<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
      id ??= BigInt(row!.xid);
      tx.send('CREATE TABLE kept ()');
    });
    outcome.catch(() => {});
    await expect.poll(() => proxy.cuts).toBe(1);
    await proxy.stop();
    await primary.kill();
    await primary.restart(async () => {});
    return { outcome, id: id!, restarted: () => proxy.start() };
  }

  it('a lost commit is not confused with another one of the same id', async () => {
    const { outcome, id, restarted } = await loseCommit();
    await useId(direct, id);
    await restarted();
    await expect(outcome).rejects.toThrow(/is unknown/);
  });

  it('a transaction whose id nobody has yet runs again', async () => {
    const { outcome, restarted } = await loseCommit();
    await restarted();
    await outcome;
    expect(await database.rows(PATIENT, 'SELECT * FROM kept')).toEqual([]);
  });
});

it('after a crash of the database, no place is confused with one before it', async () => {
  primary = await startPostgres();
  const made = await primary.createDatabase();
  const journal = await PostgresJournal.open({ url: made });
  try {
    const claim = await claimedRun(journal);
    const client = new pg.Client(made);
    client.on('error', () => {});
    await client.connect();
    // Like notifications, these commits do not wait for the disk.
    await client.query('SET synchronous_commit = off');
    for (let i = 0; i < 10; i += 1) await client.query('SELECT pg_current_xact_id()');
    const place = await journal.changes.now();
    const cursor = journal.changes.seal(claim.run.owner, place);
    await primary.kill();
    await primary.restart(async () => {});
    await journal.append(claim, [delta('changed')]);
    await expect(journal.changes.read([claim.run.owner], place)).rejects.toThrow(/by a failover or a crash/);
    await expect(journal.changes.open(claim.run.owner, cursor)).rejects.toMatchObject({
      code: 'invalid_cursor',
    });
  } finally {
    await journal.close();
    await primary.stop();
  }
});

it('a start waits for a database that crashes while it begins to listen', async () => {
  primary = await startPostgres();
  const proxy = await CuttingProxy.to(await primary.createDatabase());
  try {
    proxy.cutNext({ when: 'LISTEN', forward: false });
    const journal = await PostgresJournal.open({ url: proxy.url });
    expect(proxy.cuts).toBe(1);
    await journal.close();
  } finally {
    await proxy.close();
    await primary.stop();
  }
});

/** Until a transaction of that id was committed. */
async function useId(at: string, id: bigint): Promise<void> {
  const client = new pg.Client(at);
  await client.connect();
  for (let used = 0n; used < id; ) {
    const { rows } = await client.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
    used = BigInt(rows[0]!.xid);
  }
  await client.end();
}
