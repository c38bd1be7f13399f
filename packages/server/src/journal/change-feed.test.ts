import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ChangeBatch, ChangeFeed } from './change-feed.ts';
import type { ChangePlace } from './changes.ts';
import type { JournalFixture } from './journal.contract.ts';
import type { Claim, Journal } from './journal.ts';
import type { StoredRun } from './run-state.ts';
import { openTempJournal } from './sqlite/testing/temp-journal.ts';
import { claimedRun, completed, createRun, delta, finishedRun } from './testing/records.ts';
import { waitFor } from './testing/wait.ts';

let fixture: JournalFixture;
let journal: Journal;
beforeEach(async () => {
  fixture = await openTempJournal();
  journal = fixture.journal;
});
afterEach(() => fixture.dispose());

class Reader {
  readonly batches: ChangeBatch[] = [];
  readonly failures: unknown[] = [];
  readonly known = new Map<string, StoredRun>();
  place: ChangePlace;
  detach = (): void => {};
  readonly #feed: ChangeFeed;
  readonly #owner: string;
  readonly #ready: (() => Promise<void>) | undefined;

  constructor(feed: ChangeFeed, place: ChangePlace, owner = 'ada', ready?: () => Promise<void>) {
    this.#feed = feed;
    this.#owner = owner;
    this.#ready = ready;
    this.place = place;
    this.attach();
  }

  attach(): void {
    this.detach();
    this.detach = this.#feed.attach(this.#owner, this.place, {
      deliver: (batch) => {
        this.batches.push(batch);
        for (const { run } of batch) this.known.set(run.runId, run);
        this.place = batch.at(-1)!.place;
      },
      fail: (error) => this.failures.push(error),
      ...(this.#ready && { ready: this.#ready }),
    });
  }

  async shows(runId: string): Promise<void> {
    await waitFor(async () => expect(this.known.get(runId)).toEqual(await journal.getRun(runId)));
  }
}

describe('a subscriber', () => {
  it('ends with the present state of every run, whenever it comes, leaves and comes again', async () => {
    const moments = fc.array(fc.record({ at: fc.nat({ max: 15 }), leaves: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(
        moments,
        fc.array(fc.nat({ max: 2 }), { minLength: 16, maxLength: 16 }),
        async (readers, work) => {
          const feed = new ChangeFeed(journal.changes);
          const claims: Claim[] = [];
          for (let i = 0; i < 3; i++) claims.push(await claimedRun(journal));
          const begin = await journal.changes.now();
          const attached: Reader[] = [];
          for (const [i, which] of work.entries()) {
            for (const { at, leaves } of readers) {
              if (at === i) attached.push(new Reader(feed, begin));
              if (at + 2 === i && leaves) attached[0]?.detach();
              if (at + 4 === i && leaves) attached[0]?.attach();
            }
            await journal.append(claims[which]!, [delta()]);
            if (i % 3 === 0) await nextTurn();
          }
          attached[0]?.attach();
          const touched = claims.filter((_, which) => work.includes(which));
          for (const claim of claims) await journal.append(claim, [completed()]);
          for (const reader of attached) {
            for (const { runId } of touched) await reader.shows(runId);
            reader.detach();
          }
          expect(feed.size).toBe(0);
        },
      ),
      { numRuns: 10 },
    );
  });

  it('gets the runs of its owner only', async () => {
    const feed = new ChangeFeed(journal.changes);
    const now = await journal.changes.now();
    const [ada, bob] = [new Reader(feed, now, 'ada'), new Reader(feed, now, 'bob')];
    const [hers, his] = [
      await createRun(journal, { owner: 'ada' }),
      await createRun(journal, { owner: 'bob' }),
    ];
    await ada.shows(hers);
    await bob.shows(his);
    expect([...ada.known.keys()]).toEqual([hers]);
    expect([...bob.known.keys()]).toEqual([his]);
  });

  it('that comes back gets each run that changed meanwhile once, as fast as it reads', async () => {
    const begin = await journal.changes.now();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await finishedRun(journal, {}, completed('x'.repeat(200_000))));
    let going = Promise.withResolvers<void>();
    const reader = new Reader(new ChangeFeed(journal.changes), begin, 'ada', () => going.promise);
    await waitFor(() => expect(reader.batches).toHaveLength(1));
    for (let i = 0; i < 10; i++) await nextTurn();
    // The first batch is as large as a batch may be.
    expect(reader.batches).toHaveLength(1);
    going.resolve();
    going = { ...going, promise: Promise.resolve() };
    await waitFor(() => expect(reader.known.size).toBe(ids.length));
    expect(reader.batches.flat().map(({ run }) => run.runId)).toEqual(ids);
  });

  it('hears of a journal that cannot be read, and the others are not affected by one that throws', async () => {
    const feed = new ChangeFeed(journal.changes);
    const now = await journal.changes.now();
    const failed = vi.fn();
    feed.attach('ada', now, {
      deliver: () => {
        throw new Error('broken');
      },
      fail: failed,
    });
    const reader = new Reader(feed, now);
    await reader.shows(await createRun(journal));
    expect(failed).toHaveBeenCalledOnce();
    vi.spyOn(journal.changes, 'read').mockRejectedValue(new Error('no store'));
    await createRun(journal);
    await waitFor(() => expect(reader.failures).toEqual([new Error('no store')]));
    expect(feed.size).toBe(0);
  });
});

describe('the reader', () => {
  it('is one for all subscribers, and gives those at the same place the same batch', async () => {
    const feed = new ChangeFeed(journal.changes);
    const now = await journal.changes.now();
    const readers = Array.from({ length: 50 }, () => new Reader(feed, now));
    const first = await createRun(journal);
    for (const reader of readers) await reader.shows(first);
    const read = vi.spyOn(journal.changes, 'read');
    const second = await createRun(journal);
    for (const reader of readers) await reader.shows(second);
    expect(read.mock.calls.length).toBeLessThan(5);
    expect(new Set(readers.map(({ batches }) => batches.at(-1))).size).toBe(1);
  });

  it('merges the changes of a run, and delivers the last', async () => {
    const feed = new ChangeFeed(journal.changes);
    const claim = await claimedRun(journal);
    const reader = new Reader(feed, await journal.changes.now());
    for (let i = 0; i < 200; i++) await journal.append(claim, [delta()]);
    await reader.shows(claim.runId);
    expect(reader.batches.length).toBeLessThan(100);
  });

  it('reads nothing while nobody is there', async () => {
    const feed = new ChangeFeed(journal.changes);
    const reader = new Reader(feed, await journal.changes.now());
    await reader.shows(await createRun(journal));
    reader.detach();
    const read = vi.spyOn(journal.changes, 'read');
    await createRun(journal);
    await nextTurn();
    expect(read).not.toHaveBeenCalled();
  });
});
