/**
 * Random histories of everything that writes, refers to and removes contents, with crashes and sweeps in between, on real
 * stores: no blob that is needed is ever removed, and every blob that is not needed is removed in the end.
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBlobId } from '../blobs/blob-ids.ts';
import type { BlobStore, WrittenBlob } from '../blobs/blob-store.ts';
import { BlobSweep } from '../engine/blob-sweep.ts';
import { BLOB_GRACE_MS, FIRST_REFERENCE_MS, type HeldBlob, type Holder } from './contents.ts';
import { fileHolder } from './files.ts';
import type { Journal } from './journal.ts';
import { PostgresJournal } from './postgres/postgres-journal.ts';
import { type SharedPostgres, sharedPostgres } from './postgres/testing/start-postgres.ts';
import { SqliteJournal } from './sqlite/sqlite-journal.ts';
import { KEPT_THREADS } from './sqlite/testing/kept-threads.ts';
import { tempDirectory } from './sqlite/testing/temp-journal.ts';
import { completed, HEADS_KEPT, LEASE_MS, NO_LIMIT, newRun, TestClock } from './testing/records.ts';

interface Store extends AsyncDisposable {
  journal: Journal;
  blobs: BlobStore;
  /** As after the death of the process. */
  reopen(): Promise<void>;
}

type OpenStore = (now: () => number) => Promise<Store>;

/** What can happen. Numbers choose among what there is at that moment. */
const action = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('write' as const), size: fc.constantFrom(0, 1, 5_000) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('die while writing' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('hold' as const), blob: fc.nat(99), holder: fc.nat(3) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('share' as const), blob: fc.nat(99), holder: fc.nat(3) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('drop' as const), holder: fc.nat(99), dies: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('drop two' as const), holder: fc.nat(99) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('add file' as const), blob: fc.nat(99) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('delete file' as const), file: fc.nat(99), dies: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('run' as const),
      blobs: fc.array(fc.nat(99), { maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('evict' as const), run: fc.nat(99), dies: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('take while dropped' as const), holder: fc.nat(99) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 30 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('sweep' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

const HOUR_MS = 3600 * 1000;
const NO_LIMITS = { maxFiles: 1_000, maxBytes: 1_000_000_000 };

class History {
  readonly #store: Store;
  readonly #clock: TestClock;
  /** Written, and referred to by nobody so far. */
  readonly #fresh = new Map<string, WrittenBlob>();
  readonly #bytes = new Map<string, Buffer>();
  readonly #holders = new Map<Holder, Set<string>>();
  readonly #files: string[] = [];
  readonly #runs: string[] = [];
  readonly #dying: AbortController[] = [];
  #count = 0;

  constructor(store: Store, clock: TestClock) {
    this.#store = store;
    this.#clock = clock;
  }

  async perform(next: Action): Promise<void> {
    const { journal, blobs } = this.#store;
    const { contents } = journal;
    switch (next.kind) {
      case 'write': {
        const bytes = Buffer.from(`${this.#count++} `.padEnd(next.size, 'x'));
        const written = await blobs.write(piecesOf(bytes));
        this.#fresh.set(written.blobId, written);
        this.#bytes.set(written.blobId, bytes);
        return;
      }
      case 'die while writing':
        return this.#dieWhileWriting();
      case 'hold':
        return this.#hold(`session:${next.holder}`, at([...this.#fresh.values()], next.blob));
      case 'share': {
        const shared = at(this.#references(), next.blob);
        if (shared === undefined) return;
        const holder: Holder = `session:${next.holder}`;
        await contents.hold(holder, [shared]);
        this.#refer(holder, [shared]);
        return;
      }
      case 'drop': {
        const holder = at(this.#sessions(), next.holder);
        if (holder === undefined) return;
        const unneeded = await contents.drop(holder);
        this.#forget(holder);
        return this.#remove(unneeded, next.dies);
      }
      case 'drop two': {
        // They may both see the reference of the other, and then nobody is told.
        const [first, second] = [at(this.#sessions(), next.holder), at(this.#sessions(), next.holder + 1)];
        if (first === undefined || second === undefined) return;
        const unneeded = await Promise.all([contents.drop(first), contents.drop(second)]);
        this.#forget(first);
        this.#forget(second);
        return this.#remove(unneeded.flat(), false);
      }
      case 'take while dropped':
        return this.#takeWhileDropped(at(this.#sessions(), next.holder));
      case 'add file':
        return this.#addFile(at([...this.#fresh.values()], next.blob));
      case 'delete file': {
        const fileId = at(this.#files, next.file);
        if (fileId === undefined) return;
        const unneeded = await journal.files.delete('ada', fileId);
        this.#files.splice(this.#files.indexOf(fileId), 1);
        this.#forget(fileHolder(fileId));
        return this.#remove(unneeded, next.dies);
      }
      case 'run':
        return this.#run(next.blobs);
      case 'evict': {
        const runId = at(this.#runs, next.run);
        if (runId === undefined) return;
        const unneeded = await journal.evict([runId], HEADS_KEPT);
        this.#runs.splice(this.#runs.indexOf(runId), 1);
        this.#forget(`run:${runId}`);
        return this.#remove(unneeded, next.dies);
      }
      case 'wait':
        return this.#clock.advance(next.hours * HOUR_MS);
      case 'sweep':
        return this.sweep();
      case 'restart':
        return this.#store.reopen();
    }
  }

  async sweep(): Promise<void> {
    const { journal, blobs } = this.#store;
    const problems: unknown[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (fields: object) => problems.push(fields) };
    await new BlobSweep({ contents: journal.contents, blobs, log }).sweep();
    expect(problems).toEqual([]);
  }

  /** Everything that is needed is there. */
  async check(): Promise<void> {
    const now = this.#clock.now();
    const young = [...this.#fresh.values()].filter(({ writtenAt }) => now - writtenAt < BLOB_GRACE_MS);
    for (const blobId of new Set([...this.#referred(), ...young.map(({ blobId }) => blobId)])) {
      const pieces: Uint8Array[] = [];
      for await (const piece of this.#store.blobs.read(blobId)) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(this.#bytes.get(blobId)!)).toBe(true);
    }
  }

  /** And in the end nothing else is. */
  async end(): Promise<void> {
    await this.check();
    this.#clock.advance(2 * BLOB_GRACE_MS);
    await this.sweep();
    const left = await this.#store.blobs.list(undefined, 10_000);
    expect(left.map(({ blobId }) => blobId)).toEqual([...this.#referred()].sort());
    for (const dying of this.#dying) dying.abort();
  }

  async #hold(holder: Holder, blob: WrittenBlob | undefined): Promise<void> {
    if (blob === undefined) return;
    const held = this.#store.journal.contents.hold(holder, [blob]);
    if (!(await this.#acceptsFresh(held, [blob]))) return;
    this.#refer(holder, [blob]);
  }

  async #addFile(blob: WrittenBlob | undefined): Promise<void> {
    if (blob === undefined) return;
    const fileId = `file-${this.#count++}`;
    const file = { owner: 'ada', fileId, filename: 'a', purpose: 'p', blob };
    if (!(await this.#acceptsFresh(this.#store.journal.files.add(file, NO_LIMITS), [blob]))) return;
    this.#files.push(fileId);
    this.#refer(fileHolder(fileId), [blob]);
  }

  async #run(choices: readonly number[]): Promise<void> {
    const { journal } = this.#store;
    const all: HeldBlob[] = [...this.#references(), ...this.#fresh.values()];
    const blobs = choices.map((choice) => at(all, choice)).filter((blob) => blob !== undefined);
    const run = newRun({ blobs });
    const fresh = blobs.filter((blob): blob is WrittenBlob => !('from' in blob));
    if (!(await this.#acceptsFresh(journal.createRun(run, NO_LIMIT), fresh))) return;
    const [claim] = await journal.claim('worker', LEASE_MS, 1);
    // A checkpoint that comes with its bytes.
    const bytes = Buffer.from(`small ${this.#count++}`);
    const small = { blobId: createBlobId(), bytes };
    await journal.append(claim!, [completed()], { blobs: [small] });
    this.#bytes.set(small.blobId, bytes);
    this.#runs.push(run.runId);
    this.#refer(`run:${run.runId}`, [...blobs, small]);
  }

  /** Of a taker and a dropper at the same time, either may be first. */
  async #takeWhileDropped(from: Holder | undefined): Promise<void> {
    const blobId = from && [...(this.#holders.get(from) ?? [])][0];
    if (from === undefined || blobId === undefined) return;
    const { contents } = this.#store.journal;
    const holder: Holder = `session:taker ${this.#count++}`;
    const [taken, dropped] = await Promise.allSettled([
      contents.hold(holder, [{ blobId, from }]),
      contents.drop(from),
    ]);
    this.#forget(from);
    if (taken.status === 'fulfilled') this.#refer(holder, [{ blobId }]);
    if (dropped.status === 'rejected') throw dropped.reason;
    await this.#remove(dropped.value, false);
  }

  async #dieWhileWriting(): Promise<void> {
    const dying = new AbortController();
    const half = Promise.withResolvers<void>();
    async function* bytes() {
      yield Buffer.alloc(1_500_000);
      half.resolve();
      await new Promise(() => {});
    }
    this.#store.blobs.write(bytes(), { signal: dying.signal }).catch(() => {});
    await half.promise;
    this.#dying.push(dying);
  }

  /** Whether the store took them; it has to refuse what was written too long ago. */
  async #acceptsFresh(referring: Promise<unknown>, fresh: readonly WrittenBlob[]): Promise<boolean> {
    const now = this.#clock.now();
    const isLate = fresh.some(({ writtenAt }) => now - writtenAt > FIRST_REFERENCE_MS);
    if (!isLate) {
      await referring;
      return true;
    }
    await expect(referring).rejects.toMatchObject({ code: 'store_unavailable' });
    return false;
  }

  /** A process that dies leaves the bytes to the sweep. */
  async #remove(unneeded: readonly string[], dies: boolean): Promise<void> {
    const referred = this.#referred();
    for (const blobId of unneeded) expect(referred).not.toContain(blobId);
    if (!dies) await this.#store.blobs.remove(unneeded);
  }

  #refer(holder: Holder, blobs: readonly { blobId: string }[]): void {
    const held = this.#holders.get(holder) ?? new Set();
    for (const { blobId } of blobs) {
      held.add(blobId);
      this.#fresh.delete(blobId);
    }
    this.#holders.set(holder, held);
  }

  #forget(holder: Holder): void {
    this.#holders.delete(holder);
  }

  #sessions(): Holder[] {
    return [...this.#holders.keys()].filter((holder) => holder.startsWith('session:'));
  }

  #references(): { blobId: string; from: Holder }[] {
    return [...this.#holders].flatMap(([from, held]) => [...held].map((blobId) => ({ blobId, from })));
  }

  #referred(): Set<string> {
    return new Set([...this.#holders.values()].flatMap((held) => [...held]));
  }
}

function at<T>(items: readonly T[], choice: number): T | undefined {
  return items[choice % Math.max(1, items.length)];
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer, void> {
  if (bytes.length > 0) yield bytes;
}

function expectEveryHistory(open: OpenStore, numRuns: number): Promise<void> {
  const histories = fc.array(action, { minLength: 5, maxLength: 60, size: 'max' });
  return fc.assert(
    fc.asyncProperty(histories, async (actions) => {
      const clock = new TestClock();
      // What is left of a write has the time of the disk.
      clock.advance(Date.now() - clock.now());
      await using store = await open(clock.now);
      const history = new History(store, clock);
      for (const next of actions) {
        await history.perform(next);
        await history.check();
      }
      await history.end();
    }),
    { numRuns },
  );
}

async function openSqlite(now: () => number): Promise<Store> {
  const directory = tempDirectory();
  const path = join(directory.path, 'talaria.db');
  const openJournal = () => SqliteJournal.open({ path, now, threads: KEPT_THREADS });
  const journal = await openJournal();
  const store = {
    journal,
    blobs: journal.blobs,
    async reopen() {
      await store.journal.close();
      store.journal = await openJournal();
      store.blobs = store.journal.blobs;
    },
    async [Symbol.asyncDispose]() {
      await store.journal.close();
      directory[Symbol.dispose]();
    },
  };
  return store;
}

describe('contents that are needed are never removed, and others always are in the end', () => {
  it('on SQLite, with a directory', () => expectEveryHistory(openSqlite, 5));
  it('on SQLite, in more histories', { tags: ['soak'] }, () => expectEveryHistory(openSqlite, 30));

  describe('on Postgres', () => {
    let postgres: SharedPostgres;
    beforeAll(async () => {
      postgres = await sharedPostgres();
    });
    afterAll(() => postgres?.stop());

    it('with several servers', async () => {
      await expectEveryHistory(async (now) => {
        const url = await postgres.createDatabase();
        // The one that does the work changes, as when a server dies and another continues.
        const servers = [await PostgresJournal.open({ url, now }), await PostgresJournal.open({ url, now })];
        const store = {
          journal: servers[0]! as Journal,
          blobs: servers[1]!.blobs as BlobStore,
          async reopen() {
            const [first, second] = servers as [PostgresJournal, PostgresJournal];
            store.journal = store.journal === first ? second : first;
            store.blobs = store.journal === first ? second.blobs : first.blobs;
          },
          async [Symbol.asyncDispose]() {
            for (const server of servers) await server.close();
          },
        };
        return store;
      }, 4);
    });
  });
});
