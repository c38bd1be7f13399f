import { randomInt } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ChangePlace } from '../changes.ts';
import { describeJournalContract, type OpenJournal } from '../journal.contract.ts';
import type { RunRow } from '../rows.ts';
import type { Turn } from '../sessions.ts';
import {
  approvalRequest,
  claimedRun,
  completed,
  createRun,
  delta,
  finishedRun,
  LEASE_MS,
  NO_LIMIT,
  newJob,
  newRun,
  TestClock,
} from '../testing/records.ts';
import { SUSPECT_LOCK } from './claims.ts';
import { ASKED, Database } from './database.ts';
import { PostgresJournal } from './postgres-journal.ts';
import { type SharedPostgres, sharedPostgres } from './testing/start-postgres.ts';
import { lockForWrites, performWrites, type Write } from './writes.ts';

let postgres: SharedPostgres;

beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.stop());

describe('one store for all tests', () => {
  /**
   * The journal and its database are emptied before each test. Opening its connections takes longer than most of the
   * tests.
   */
  let journal: PostgresJournal | undefined;
  let url: string;
  let outside: pg.Client;
  /** Deletes everything but the keys, which the journal has in memory. */
  let deleteAll: string;
  let now: (() => number) | undefined;

  beforeAll(async () => {
    url = await postgres.createDatabase();
    outside = new pg.Client(url);
    await outside.connect();
    const tables = await outside.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('talaria_schema', 'keys')",
    );
    deleteAll = tables.rows.map(({ name }) => `DELETE FROM ${name}`).join('; ');
  });
  afterAll(async () => {
    await journal?.close();
    await outside.end();
  });

  const openAgain = async () => {
    await journal?.close();
    journal = await PostgresJournal.open({ url, now: () => now!() });
    return journal;
  };

  const open: OpenJournal = async (options) => {
    now = options.now;
    journal ??= await openAgain();
    await outside.query(deleteAll);
    await hearAll(journal, outside);
    return {
      get journal() {
        return journal!;
      },
      get blobs() {
        return journal!.blobs;
      },
      reopen: openAgain,
      async dispose() {},
    };
  };

  describeJournalContract('postgres', open, { shared: true });
});

/** Announcements come in order: after this one, none of the last test is still to come. */
async function hearAll(journal: PostgresJournal, outside: pg.Client): Promise<void> {
  const heard = Promise.withResolvers<void>();
  const unwatch = journal.watchQueue(heard.resolve);
  await outside.query("SELECT pg_notify('talaria', '')");
  await heard.promise;
  unwatch();
}

describe('beside another server', () => {
  it('runs that are created together all succeed, also when one of them was blocked by somebody', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    try {
      await other.connect();
      const job = await journal.jobs.create(newJob(), 1);
      const first = newRun({ owner: 'eve' });
      const second = newRun({ job: { jobId: job!.jobId, version: job!.version } });
      // The other transaction holds what the second needs, and waits for what the first holds: the journal has to give
      // way.
      await other.query("BEGIN; SET deadlock_timeout = '10s'; SELECT * FROM jobs FOR UPDATE");
      const created = Promise.all([first, second].map((run) => journal.createRun(run, NO_LIMIT)));
      await expect
        .poll(async () => (await other.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount)
        .toBe(1);
      await other.query("INSERT INTO owners (owner, turn) VALUES ('eve', 0)");
      await other.query('ROLLBACK');
      expect(await created).toEqual([{ kind: 'created' }, { kind: 'created' }]);
      for (const { runId } of [first, second]) expect(await journal.getRun(runId)).toMatchObject({ runId });
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('a claim does not wait for a run that another transaction holds', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    const twice = <T>(make: () => Promise<T>): Promise<[T, T]> => Promise.all([make(), make()]);
    try {
      await other.connect();
      await twice(() => createRun(journal));
      const stopped = await journal.claim('worker', LEASE_MS, 2);
      for (const { runId } of stopped) await journal.post(runId, { kind: 'stop' });
      await twice(() => createRun(journal));
      const begun = await journal.claim('worker', LEASE_MS, 2);
      for (const claim of [...stopped, ...begun]) await journal.release(claim);
      const fresh = await twice(() => createRun(journal));

      await other.query('BEGIN');
      const held = [stopped[0]!.runId, begun[0]!.runId, fresh[0]];
      await other.query('SELECT FROM runs WHERE run_id = ANY ($1) FOR UPDATE', [held]);
      const claims = await journal.claim('other', LEASE_MS, 10);
      expect(claims.map(({ runId }) => runId)).toEqual([begun[1]!.runId, fresh[1]]);
      const statuses = await Promise.all(stopped.map(({ runId }) => journal.getRun(runId)));
      expect(statuses.map((run) => run?.state.status)).toEqual(['stopping', 'cancelled']);
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('a claim takes later runs instead of those that another transaction holds', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    try {
      await other.connect();
      const ids: string[] = [];
      for (const owner of ['a', 'a', 'b', 'a', 'b']) ids.push(await createRun(journal, { owner }));
      await other.query('BEGIN');
      await other.query('SELECT FROM runs WHERE run_id = ANY ($1) FOR UPDATE', [[ids[0], ids[2]]]);
      const claims = await journal.claim('worker', LEASE_MS, 2);
      expect(claims.map(({ runId }) => runId)).toEqual([ids[1], ids[4]]);
      await other.query('ROLLBACK');
      const rest = await journal.claim('worker', LEASE_MS, 10);
      expect(new Set(rest.map(({ runId }) => runId))).toEqual(new Set([ids[0], ids[2], ids[3]]));
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('a run is created while a claim holds the row of its owner', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    try {
      await other.connect();
      await createRun(journal, { owner: 'a' });
      await other.query("BEGIN; UPDATE owners SET turn = turn + 1 WHERE owner = 'a'");
      const runId = await createRun(journal, { owner: 'a' });
      await other.query('ROLLBACK');
      expect(await journal.getRun(runId)).toMatchObject({ runId });
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('claims of several servers lock the owners in one order, whoever was served last', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    try {
      await other.connect();
      for (const owner of ['a', 'a', 'b']) await createRun(journal, { owner });
      await other.query("BEGIN; UPDATE owners SET turn = turn WHERE owner = 'a'");
      // Serves a, b, a: the last turn is that of a.
      const claims = journal.claim('worker', LEASE_MS, 3);
      await expect
        .poll(async () => (await other.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount)
        .toBe(1);
      // If the claim held this one already, each would wait for the other.
      await other.query("UPDATE owners SET turn = turn WHERE owner = 'b'; COMMIT");
      expect(await claims).toHaveLength(3);
    } finally {
      await other.end();
      await journal.close();
    }
  });

  /**
   * The other transaction holds `a` while the work asks for `b` and `a`, and then takes `b`. If the work held that already,
   * each would wait for the other, and the other is the first to notice.
   */
  async function crossed<T>(
    other: pg.Client,
    hold: (name: 'a' | 'b') => Promise<unknown>,
    work: () => Promise<T>,
  ): Promise<T> {
    await other.query("SET deadlock_timeout = '10ms'; BEGIN");
    await hold('a');
    const done = work();
    await expect
      .poll(async () => (await other.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount)
      .toBe(1);
    await hold('b');
    await other.query('COMMIT');
    return done;
  }

  it('new runs of several servers use the sessions in one order', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    const use = (session: string) =>
      other.query(
        `INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns,
                               tool_calls, input_tokens, output_tokens)
         VALUES ('ada', $1, 0, 0, nextval('session_places'), 0, 0, 0, 0, 0, 0)
             ON CONFLICT (owner, session_id) DO UPDATE SET place = excluded.place`,
        [session],
      );
    const create = () => Promise.all(['b', 'a', 'b'].map((sessionId) => createRun(journal, { sessionId })));
    try {
      await other.connect();
      // First the sessions are new, and then they exist.
      for (let times = 0; times < 2; times++) {
        const [, ofA, ofB] = await crossed(other, use, create);
        const { sessions } = await journal.sessions.list({ owner: 'ada', limit: 10 });
        expect(sessions).toMatchObject([
          { sessionId: 'b', lastRunId: ofB },
          { sessionId: 'a', lastRunId: ofA },
        ]);
      }
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('turns of several servers are added to the sessions in one order', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    const change = (session: string) =>
      other.query('UPDATE sessions SET title = $1 WHERE session_id = $1', [session]);
    const turn: Turn = { messages: [{ role: 'user', content: 'hi' }], replaces: false };
    try {
      await other.connect();
      for (const sessionId of ['b', 'a']) await createRun(journal, { sessionId });
      const claims = await journal.claim('worker', LEASE_MS, 2);
      await crossed(other, change, () =>
        Promise.all(claims.map((claim) => journal.append(claim, [completed()], { turn }))),
      );
      for (const session of ['b', 'a']) {
        expect(await journal.sessions.get('ada', session)).toMatchObject({ title: session, turns: 1 });
      }
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('new runs of several servers lock their jobs in one order', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    const hold = (jobId: string) => other.query('SELECT FROM jobs WHERE job_id = $1 FOR UPDATE', [jobId]);
    try {
      await other.connect();
      const firing = async (jobId: string) => ({
        jobId,
        version: (await journal.jobs.create(newJob({ jobId }), 2))!.version,
      });
      const [b, a] = [await firing('b'), await firing('a')];
      const outcomes = await crossed(other, hold, () =>
        Promise.all([b, a, a].map((job) => journal.createRun(newRun({ job }), NO_LIMIT))),
      );
      expect(outcomes.map(({ kind }) => kind)).toEqual(['created', 'created', 'job_changed']);
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('a run that may crash servers is claimed by one of them at a time', async () => {
    const url = await postgres.createDatabase();
    const clock = new TestClock();
    const [journal, other] = [await PostgresJournal.open({ url, now: clock.now }), new pg.Client(url)];
    try {
      await other.connect();
      const runId = await createRun(journal);
      for (let claims = 0; claims < 2; claims++) {
        expect(await journal.claim('worker', LEASE_MS, 1)).toMatchObject([{ runId }]);
        clock.advance(LEASE_MS);
      }
      await other.query('SELECT pg_advisory_lock($1)', [SUSPECT_LOCK]);
      expect(await journal.claim('worker', LEASE_MS, 1)).toEqual([]);
      await other.query('SELECT pg_advisory_unlock($1)', [SUSPECT_LOCK]);
      expect(await journal.claim('worker', LEASE_MS, 1)).toMatchObject([{ runId }]);
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('foreign messages on its channel do no harm, and wake the watchers', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    try {
      await other.connect();
      for (const payload of ['', 'null', 'nonsense', '{}', '{"events":7}']) {
        const woken = Promise.withResolvers<void>();
        const unwatch = journal.watchQueue(woken.resolve);
        await other.query('SELECT pg_notify($1, $2)', ['talaria', payload]);
        await woken.promise;
        unwatch();
      }
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('appends of one moment are one insert, and one notification that names all of them', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    try {
      await other.connect();
      await Promise.all(Array.from({ length: 20 }, () => createRun(journal)));
      const claims = await journal.claim('worker', LEASE_MS, 20);
      await other.query(`
        CREATE TABLE inserts (number integer GENERATED ALWAYS AS IDENTITY);
        CREATE FUNCTION count_insert() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN INSERT INTO inserts DEFAULT VALUES; RETURN NULL; END $$;
        CREATE TRIGGER inserted AFTER INSERT ON records EXECUTE FUNCTION count_insert();
        LISTEN talaria`);
      const announced: string[][] = [];
      other.on('notification', ({ payload }) => {
        const { events } = JSON.parse(payload!);
        if (events.length > 0) announced.push(events);
      });
      await Promise.all(claims.map((claim) => journal.append(claim, [delta(), delta()])));
      expect((await other.query('SELECT FROM inserts')).rowCount).toBe(1);
      await expect.poll(() => announced).toEqual([claims.map(({ runId }) => runId)]);
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('a change that is committed after later ones is found', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    try {
      await other.connect();
      const [late, early] = [await createRun(journal), await createRun(journal)];
      const begin = await journal.changes.now();
      // As a server of an earlier version would write it: it knows nothing of marks.
      await other.query('BEGIN');
      await other.query('UPDATE runs SET next_pos = next_pos + 1 WHERE run_id = $1', [late]);
      await journal.post(early, { kind: 'stop' });
      const idsAfter = async (place: ChangePlace) => {
        const { changed, place: next } = await journal.changes.read(['ada'], place);
        const runs = await journal.changes.runs(
          changed.map(({ ordinal }) => ordinal),
          1_000_000,
        );
        return { ids: runs.map(({ runId }) => runId), next };
      };
      const first = await idsAfter(begin);
      expect(first.ids).toEqual([early]);
      expect((await idsAfter(first.next)).ids).toEqual([]);
      const cursor = journal.changes.seal('ada', first.next);
      await other.query('COMMIT');
      expect((await idsAfter(first.next)).ids).toEqual([late]);
      const resumed = await idsAfter(await journal.changes.open('ada', cursor));
      expect(resumed.ids.toSorted()).toEqual([late, early].toSorted());
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('a place and a cursor of another history are refused', async () => {
    const url = await postgres.createDatabase();
    const journal = await PostgresJournal.open({ url });
    try {
      const here = await journal.changes.now();
      const elsewhere = { ...here, history: 'another' };
      const invalid = { code: 'invalid_cursor' };
      await expect(journal.changes.read(['ada'], elsewhere)).rejects.toMatchObject(invalid);
      for (const place of [elsewhere, { ...here, mark: here.mark + 1_000_000 }]) {
        const cursor = journal.changes.seal('ada', place);
        await expect(journal.changes.open('ada', cursor)).rejects.toMatchObject(invalid);
      }
    } finally {
      await journal.close();
    }
  });

  it('watchers are woken when their server hears the others again, and by the others from then on', async () => {
    const url = await postgres.createDatabase();
    const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
    const wakesAll = async (cause: () => Promise<unknown>) => {
      const woken = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
      const [queue, jobs, outbox, events, posts, changes] = woken.map(({ resolve }) => resolve);
      const unwatch = [
        journal.watchQueue(queue!),
        journal.jobs.watch(jobs!),
        journal.outbox.watch(outbox!),
        journal.changes.watch(changes!),
        journal.watchEvents('run_1', () => events!()),
        journal.watchPosts('run_1', posts!),
      ];
      await cause();
      await Promise.all(woken.map(({ promise }) => promise));
      for (const end of unwatch) end();
    };
    try {
      await other.connect();
      await wakesAll(() =>
        other.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
        ),
      );
      await wakesAll(() => other.query("SELECT pg_notify('talaria', '')"));
    } finally {
      await other.end();
      await journal.close();
    }
  });

  it('finds an event that nobody announced', async () => {
    const url = await postgres.createDatabase();
    const [journal, mute] = [await PostgresJournal.open({ url }), new Database({ url, connections: 1 })];
    try {
      const claim = await claimedRun(journal);
      let woken = 0;
      journal.watchEvents(claim.runId, () => {
        woken += 1;
      });
      // Like a server that dies between its commit and its announcement.
      const append: Write = { kind: 'append', lease: claim, records: [completed()], options: {} };
      await mute.transaction(
        ASKED,
        async (tx, locked: RunRow[]) => performWrites(tx, [append], locked),
        lockForWrites([append]),
      );
      await expect.poll(() => woken).toBeGreaterThan(0);
    } finally {
      await mute.close();
      await journal.close();
    }
  });
});

it('owners are served in turns, whatever the planner knows about the tables', async () => {
  const url = await postgres.createDatabase();
  const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
  try {
    await other.connect();
    await finishedRun(journal, { owner: 'a' });
    // With one row in the table it would join it in another order.
    await other.query('ANALYZE owners');
    for (const owner of ['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b', 'a', 'b', 'a', 'b']) {
      await createRun(journal, { owner });
    }
    const served: string[] = [];
    for (let claims = 0; claims < 4; claims++) {
      const claimed = await journal.claim('worker', LEASE_MS, 3);
      served.push(claimed.map(({ run }) => run.owner).join(''));
      for (const claim of claimed) await journal.append(claim, [completed()]);
    }
    expect(served).toEqual(['bab', 'aba', 'bab', 'aba']);
    const turns = await other.query('SELECT owner, turn FROM owners ORDER BY turn');
    // Every claim takes one number for each of its owners.
    expect(turns.rows).toEqual([
      { owner: 'b', turn: '8' },
      { owner: 'a', turn: '9' },
    ]);
  } finally {
    await other.end();
    await journal.close();
  }
});

it('a claim of one webhook message leases one, whatever the planner knows about the tables', async () => {
  const url = await postgres.createDatabase();
  const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
  const webhook = { url: 'https://hooks.example.com/', secret: { kind: 'none' } } as const;
  try {
    await other.connect();
    await finishedRun(journal, { webhook });
    // With one row in each table it would join them in another order.
    await other.query('ANALYZE');
    for (let more = 0; more < 4; more++) await finishedRun(journal, { webhook });
    expect(await journal.outbox.claim({ leaseMs: 30_000, limit: 1, perReceiver: 2 })).toHaveLength(1);
    const leased = await other.query('SELECT FROM webhook_messages WHERE leased');
    expect(leased.rowCount).toBe(1);
  } finally {
    await other.end();
    await journal.close();
  }
});

it('a run that the database refuses fails alone', async () => {
  const url = await postgres.createDatabase();
  const journal = await PostgresJournal.open({ url });
  try {
    const runs = [newRun(), newRun({ runId: await createRun(journal) }), newRun()];
    const outcomes = await Promise.allSettled(runs.map((run) => journal.createRun(run, NO_LIMIT)));
    expect(outcomes).toMatchObject([
      { value: { kind: 'created' } },
      { reason: { code: 'store_unavailable' } },
      { value: { kind: 'created' } },
    ]);
  } finally {
    await journal.close();
  }
});

it('closes while the database is unavailable and a write waits for it', async () => {
  const url = await postgres.createDatabase();
  const journal = await PostgresJournal.open({ url });
  const claim = await claimedRun(journal);
  await postgres.restart(async () => {
    const refused = expect(journal.append(claim, [delta()])).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    await journal.close();
    await refused;
  });
});

it('a post that the database has no room for is refused, does not wait like the work, and never happens', async () => {
  const url = await postgres.createDatabase();
  const [journal, other] = [await PostgresJournal.open({ url }), new pg.Client(url)];
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    await other.connect();
    const claim = await claimedRun(journal);
    await journal.append(claim, [approvalRequest('a')]);
    await other.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
          AS $$ BEGIN RAISE SQLSTATE '53100' USING MESSAGE = 'disk full'; END $$;
      CREATE TRIGGER full_disk BEFORE INSERT ON records EXECUTE FUNCTION refuse()`);
    const stopped = journal.post(claim.runId, { kind: 'stop' });
    // As its owner does when nobody has answered in time.
    const denial = { kind: 'approval', choice: 'deny', all: false, reason: 'timeout' } as const;
    const work = Promise.all([journal.append(claim, [delta()]), journal.post(claim.runId, denial)]);
    const refused = expect(stopped).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect.poll(async () => (await journal.checkHealth()).lastError?.message).toBe('disk full');
    vi.advanceTimersByTime(ASKED.waitMs);
    await refused;
    await other.query('DROP TRIGGER full_disk ON records');
    expect(await work).toMatchObject([[{ event: 'message.delta' }], [{ event: 'approval.responded' }]]);
    expect(await journal.readPosted(claim.runId, -1)).toMatchObject([{ event: 'approval.responded' }]);
  } finally {
    vi.useRealTimers();
    await other.end();
    await journal.close();
  }
});

it('streams that are all woken at once delay nobody else', async () => {
  const url = await postgres.createDatabase();
  const journal = await PostgresJournal.open({ url });
  try {
    const runId = await createRun(journal);
    // All connections are there by then: on a busy machine one takes longer to open than the streams to read.
    await Promise.all(Array.from({ length: 100 }, () => journal.getRun(runId)));
    let read = 0;
    const streams = Array.from({ length: 2_000 }, async () => {
      await journal.readEvents(runId, -1, 10);
      read += 1;
    });
    await journal.getRun(runId);
    expect(read).toBeLessThan(1_000);
    await Promise.all(streams);
  } finally {
    await journal.close();
  }
});

it('works with fewer connections than it would like, as an ordinary user', async () => {
  const url = new URL(await postgres.createEmptyDatabase());
  const admin = new pg.Client(url.href);
  await admin.connect();
  const guest = newRole('guest');
  await admin.query(
    `CREATE ROLE ${guest} LOGIN PASSWORD 'secret' CONNECTION LIMIT 3; GRANT ALL ON SCHEMA public TO ${guest}`,
  );
  await admin.end();
  [url.username, url.password] = [guest, 'secret'];
  const journal = await PostgresJournal.open({ url: url.href });
  try {
    const runIds = await Promise.all(Array.from({ length: 20 }, () => createRun(journal)));
    const found = await Promise.all(runIds.map((runId) => journal.getRun(runId)));
    expect(found.map((run) => run?.runId)).toEqual(runIds);
  } finally {
    await journal.close();
  }
});

it('works if the database does not reveal its history', async () => {
  const url = new URL(await postgres.createEmptyDatabase());
  const admin = new pg.Client(url.href);
  await admin.connect();
  const tenant = newRole('tenant');
  await admin.query(
    `CREATE ROLE ${tenant} LOGIN PASSWORD 'secret'; GRANT ALL ON SCHEMA public TO ${tenant}; ` +
      'REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC',
  );
  await admin.end();
  [url.username, url.password] = [tenant, 'secret'];
  const journal = await PostgresJournal.open({ url: url.href });
  try {
    const runId = await createRun(journal);
    expect(await journal.getRun(runId)).toMatchObject({ runId });
  } finally {
    await journal.close();
  }
});

/** A name that no other test has used: roles belong to all databases of a server. */
function newRole(name: string): string {
  return `${name}_${randomInt(1e9)}`;
}
