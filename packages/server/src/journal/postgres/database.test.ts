/** Transactions over a connection that is cut at the worst moments, against a real server. */
import dns from 'node:dns';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Database, type Patience, type Transaction } from './database.ts';
import { CuttingProxy } from './testing/cutting-proxy.ts';
import { type SharedPostgres, sharedPostgres } from './testing/start-postgres.ts';

const PATIENT: Patience = { waitMs: 20_000 };

type LookupArguments = [
  host: string,
  options: dns.LookupOptions,
  done: (error: Error | null, found: dns.LookupAddress[]) => void,
];

let postgres: SharedPostgres;
let proxy: CuttingProxy;
let database: Database;
let direct: pg.Client;

beforeAll(async () => {
  postgres = await sharedPostgres();
});
afterAll(() => postgres?.stop());

beforeEach(async () => {
  const url = await postgres.createEmptyDatabase();
  proxy = await CuttingProxy.to(url);
  database = new Database({ url: proxy.url, connections: 2 });
  direct = new pg.Client(url);
  await direct.connect();
  await direct.query('CREATE TABLE marks (name text)');
});
afterEach(async () => {
  await database.close();
  await direct.end();
  await proxy.close();
});

const mark = (name: string, patience = PATIENT) =>
  database.transaction(patience, async (tx) => {
    tx.send('INSERT INTO marks (name) VALUES ($1)', [name]);
    return name;
  });
const marks = async () =>
  (await direct.query('SELECT name FROM marks ORDER BY name')).rows.map((row) => row.name);

describe('a transaction whose connection is cut', () => {
  it.each([
    ['before its first statement', { when: 'BEGIN', forward: false }],
    ['with its first statement sent', { when: 'BEGIN', forward: true }],
    ['before its write', { when: 'INSERT', forward: false }],
    ['before its commit', { when: 'COMMIT', forward: false }],
    ['after its commit was sent and before the answer', { when: 'COMMIT', forward: true }],
  ] as const)('%s happens once', async (_, cut) => {
    proxy.cutNext(cut);
    expect(await mark('a')).toBe('a');
    expect(proxy.cuts).toBe(1);
    expect(await marks()).toEqual(['a']);
  });

  it.each([
    ['before what it begins with', { when: 'FOR UPDATE', forward: false }],
    ['with that sent', { when: 'FOR UPDATE', forward: true }],
    ['after its commit was sent and before the answer', { when: 'COMMIT', forward: true }],
  ] as const)('%s happens once, and gets its first rows', async (_, cut) => {
    await mark('a');
    proxy.cutNext(cut);
    const first = { sql: 'SELECT name FROM marks WHERE name = $1 FOR UPDATE', values: ['a'] };
    const rename = async (tx: Transaction, rows: { name: string }[]) => {
      tx.send('UPDATE marks SET name = name || $1', ['b']);
      return rows;
    };
    expect(await database.transaction(PATIENT, rename, first)).toEqual([{ name: 'a' }]);
    expect(proxy.cuts).toBe(1);
    expect(await marks()).toEqual(['ab']);
  });

  it('and whose commit takes a while on the server happens once', async () => {
    await direct.query(`
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
          AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON marks DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION wait();
      SELECT pg_advisory_lock(1)`);
    proxy.cutNext({ when: 'COMMIT', forward: true });
    const marking = mark('a');
    await expect.poll(() => database.lastError?.message).toMatch(/still at its commit/);
    await direct.query('SELECT pg_advisory_unlock(1)');
    expect(await marking).toBe('a');
    expect(await marks()).toEqual(['a']);
  });

  it('several times in a row happens once', async () => {
    proxy.cutNext(
      { when: 'COMMIT', forward: true },
      { when: 'BEGIN', forward: true },
      { when: 'INSERT', forward: true },
    );
    await mark('a');
    expect(await marks()).toEqual(['a']);
  });
});

describe('while the database cannot be reached', () => {
  it('a call waits, and continues when it is back', async () => {
    await proxy.stop();
    const waiting = mark('a');
    await expect.poll(() => database.lastError?.message).toMatch(/ECONNREFUSED/);
    await proxy.start();
    expect(await waiting).toBe('a');
    expect(await marks()).toEqual(['a']);
  });

  it.each([
    [
      'a host without an address',
      [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ],
      /127.0.0.1:1; .*127.0.0.2:1/,
    ],
    [
      'an unknown host',
      Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' }),
      /EAI_AGAIN/,
    ],
  ])('a call waits and the log says why: %s', async (_, found, reason) => {
    await using resources = new AsyncDisposableStack();
    const nowhere = new Database({ url: 'postgres://database:1/marks', connections: 1 });
    resources.defer(() => nowhere.close());
    const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((...[, , done]: LookupArguments) => {
      if (found instanceof Error) done(found, []);
      else done(null, found);
    }) as typeof dns.lookup);
    resources.defer(() => lookup.mockRestore());
    const refused = expect(nowhere.rows({ waitMs: 100 }, 'SELECT 1')).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    await expect.poll(() => nowhere.lastError?.message).toMatch(reason);
    await refused;
  });

  it('a call is refused when its time is over, and has done nothing', async () => {
    await proxy.stop();
    await expect(
      database.transaction({ waitMs: 0 }, async (tx) => tx.rows('SELECT 1')),
    ).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    await expect(database.rows({ waitMs: 0 }, 'SELECT 1')).rejects.toMatchObject({
      code: 'store_unavailable',
    });
  });

  it('closing ends waiting calls', async () => {
    await proxy.stop();
    const waiting = mark('a');
    await expect.poll(() => database.lastError).not.toBeNull();
    const refused = expect(waiting).rejects.toMatchObject({ code: 'store_unavailable' });
    await database.close();
    await refused;
  });
});

it('a call waits while the database accepts no writes, also a read', async () => {
  await mark('a');
  const setReadOnly = async (value: 'on' | 'off') => {
    await direct.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await direct.query('SELECT pg_reload_conf()');
  };
  await direct.query('SET default_transaction_read_only = off');
  await setReadOnly('on');
  try {
    await expect.poll(() => mark('b', { waitMs: 0 }).catch(({ code }) => code)).toBe('store_unavailable');
    await expect(database.rows({ waitMs: 0 }, 'SELECT 1')).rejects.toMatchObject({
      cause: { message: expect.stringContaining('takes no writes') },
    });
    const waiting = mark('c');
    await setReadOnly('off');
    await waiting;
  } finally {
    await setReadOnly('off');
  }
  expect(await marks()).toContain('c');
});

it('a connection that is silent for too long is given up, and its transaction happens once', async () => {
  proxy.silenceNext('INSERT');
  await mark('a', { ...PATIENT, answerMs: 300 });
  proxy.silenceNext('COMMIT');
  await mark('b', { ...PATIENT, answerMs: 300 });
  expect(await marks()).toEqual(['a', 'b']);
});

it('a statement that takes too long gets more time with every retry', async () => {
  await database.transaction({ ...PATIENT, answerMs: 100 }, async (tx) => {
    tx.send("INSERT INTO marks (name) VALUES ('a')");
    await tx.rows('SELECT pg_sleep(0.3)');
  });
  expect(await marks()).toEqual(['a']);
});

it('a role that was let in once waits while its password is being changed, and no other role does', async () => {
  const name = `guest_${Date.now()}`;
  await direct.query(`CREATE ROLE ${name} LOGIN PASSWORD 'right'; GRANT ALL ON marks TO ${name}`);
  const url = new URL(proxy.url);
  [url.username, url.password] = [name, 'right'];
  const guest = new Database({ url: url.href, connections: 1 });
  url.password = 'wrong';
  const stranger = new Database({ url: url.href, connections: 1 });
  try {
    await guest.rows(PATIENT, 'SELECT 1');
    await direct.query(`ALTER ROLE ${name} PASSWORD 'other'`);
    await proxy.stop();
    await proxy.start();
    const waiting = guest.transaction(PATIENT, async (tx) => {
      tx.send("INSERT INTO marks (name) VALUES ('a')");
    });
    await expect.poll(() => guest.lastError?.message).toMatch(/password/);
    await direct.query(`ALTER ROLE ${name} PASSWORD 'right'`);
    await waiting;
    expect(await marks()).toEqual(['a']);
    await expect(stranger.rows(PATIENT, 'SELECT 1')).rejects.toMatchObject({ cause: { code: '28P01' } });
  } finally {
    await guest.close();
    await stranger.close();
  }
});

it('closes while a statement waits for another transaction', async () => {
  await direct.query("INSERT INTO marks (name) VALUES ('a')");
  await direct.query('BEGIN; SELECT * FROM marks FOR UPDATE');
  const waiting = database.transaction(PATIENT, (tx) => tx.rows('SELECT * FROM marks FOR UPDATE'));
  await expect
    .poll(async () => (await direct.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount)
    .toBe(1);
  await database.close();
  await direct.query('COMMIT');
  await waiting;
});

it('a statement that the database refuses undoes the transaction, which is not retried', async () => {
  let tries = 0;
  const failing = database.transaction(PATIENT, async (tx) => {
    tries += 1;
    tx.send('INSERT INTO marks (name) VALUES ($1)', ['a']);
    tx.send('INSERT INTO nowhere (name) VALUES ($1)', ['a']);
  });
  await expect(failing).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(tries).toBe(1);
  expect(await marks()).toEqual([]);
  expect(await mark('b')).toBe('b');
});

it('work that ignores a refused statement has done nothing, and gets an error', async () => {
  const careless = database.transaction(PATIENT, async (tx) => {
    tx.send("INSERT INTO marks (name) VALUES ('a')");
    await tx.rows('SELECT * FROM nowhere').catch(() => {});
    return 'done';
  });
  await expect(careless).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await marks()).toEqual([]);
});

it('a transaction fails with the error that undid it, not with a later one', async () => {
  let tries = 0;
  const disturbed = database.transaction(PATIENT, async (tx) => {
    tries += 1;
    if (tries === 1) tx.send("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$");
    return tx.rows("INSERT INTO marks (name) VALUES ('a') RETURNING name");
  });
  expect(await disturbed).toEqual([{ name: 'a' }]);
  const refused = database.transaction(PATIENT, async (tx) => {
    tx.send('INSERT INTO nowhere DEFAULT VALUES');
    await tx.rows('SELECT 1');
  });
  await expect(refused).rejects.toMatchObject({ cause: { message: expect.stringContaining('nowhere') } });
  expect(await marks()).toEqual(['a']);
});

it('an error of the work itself undoes the transaction and reaches the caller', async () => {
  const failing = database.transaction(PATIENT, async (tx) => {
    await tx.rows("INSERT INTO marks (name) VALUES ('a')");
    throw new RangeError('no');
  });
  await expect(failing).rejects.toThrow(RangeError);
  expect(await marks()).toEqual([]);
});

it('work of which one part failed can do nothing more', async () => {
  let rest: Promise<unknown>[] = [];
  const over = Promise.withResolvers<void>();
  const failing = database.transaction(PATIENT, async (tx) => {
    rest = [
      over.promise.then(() => tx.rows("INSERT INTO marks (name) VALUES ('a') RETURNING name")),
      over.promise.then(() => tx.send("INSERT INTO marks (name) VALUES ('b')")),
    ];
    await Promise.all([...rest, Promise.reject(new RangeError('no'))]);
  });
  await expect(failing).rejects.toThrow(RangeError);
  over.resolve();
  const refused = { status: 'rejected', reason: { message: expect.stringContaining('transaction') } };
  expect(await Promise.allSettled(rest)).toMatchObject([refused, refused]);
  // It uses the same connection, so it comes after the others.
  await mark('c');
  expect(await marks()).toEqual(['c']);
});

it('a table that a newer server alters meanwhile is read and written as before', async () => {
  await mark('a');
  const read = () => database.rows(PATIENT, 'SELECT * FROM marks WHERE name = $1', ['a']);
  const readInTransaction = () =>
    database.transaction(PATIENT, (tx) => tx.rows('SELECT * FROM marks WHERE name = $1 FOR UPDATE', ['a']));
  for (let i = 0; i < 3; i++) await Promise.all([read(), readInTransaction()]);
  await direct.query('ALTER TABLE marks ADD COLUMN later integer');
  expect(await read()).toEqual([{ name: 'a', later: null }]);
  expect(await readInTransaction()).toEqual([{ name: 'a', later: null }]);
});

it('two transactions that block each other both happen', async () => {
  await direct.query("INSERT INTO marks (name) VALUES ('a'), ('b')");
  const meet = meeting(2);
  const lock = (first: string, second: string) => {
    let met = false;
    return database.transaction(PATIENT, async (tx) => {
      await tx.rows('SELECT * FROM marks WHERE name = $1 FOR UPDATE', [first]);
      // Only the first attempt meets the other: the second one finds it gone.
      if (!met) await meet();
      met = true;
      await tx.rows('SELECT * FROM marks WHERE name = $1 FOR UPDATE', [second]);
    });
  };
  await Promise.all([lock('a', 'b'), lock('b', 'a')]);
});

it('a transaction that stalls does not keep its locks forever, and happens later', async () => {
  await direct.query("INSERT INTO marks (name) VALUES ('a')");
  await using resources = new AsyncDisposableStack();
  const stalling = new Database({ url: proxy.url, connections: 1, idleMs: 100 });
  resources.defer(() => stalling.close());
  const [locked, freed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const stalled = stalling.transaction(PATIENT, async (tx) => {
    await tx.rows('SELECT * FROM marks FOR UPDATE');
    locked.resolve();
    await freed.promise;
    tx.send("INSERT INTO marks (name) VALUES ('c')");
  });
  await locked.promise;
  await direct.query("UPDATE marks SET name = 'b'");
  freed.resolve();
  await stalled;
  expect(await marks()).toEqual(['b', 'c']);
});

function meeting(size: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let there = 0;
  return () => {
    there += 1;
    if (there === size) resolve();
    return promise;
  };
}
