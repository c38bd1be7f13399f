import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Feeds } from './feeds.ts';
import type { JournalFixture } from './journal.contract.ts';
import type { Journal } from './journal.ts';
import { openTempJournal } from './sqlite/testing/temp-journal.ts';
import { collect } from './testing/feeds.ts';
import { claimedRun, completed, counting, delta, evictExpired, finishedRun } from './testing/records.ts';
import { waitFor } from './testing/wait.ts';

let fixture: JournalFixture;
let journal: Journal;
beforeEach(async () => {
  fixture = await openTempJournal();
  journal = fixture.journal;
});
afterEach(() => fixture.dispose());

/** The seqs after `cursor` of a run whose last event is `last`. */
const after = (cursor: number, last: number) => counting(last + 1).slice(cursor + 1);

/** A journal whose reads are answered late, with the data from when they were asked. */
function late(source: Journal, turns: readonly number[]): Pick<Journal, 'readEvents' | 'watchEvents'> {
  let asked = 0;
  return {
    watchEvents: (runId, listener) => source.watchEvents(runId, listener),
    async readEvents(runId, afterSeq, limit) {
      const page = await source.readEvents(runId, afterSeq, limit);
      for (let i = turns[asked++ % turns.length] ?? 0; i > 0; i--) await new Promise(setImmediate);
      return page;
    },
  };
}

describe('a subscriber', () => {
  const moments = fc.array(
    fc.record({
      attachAt: fc.nat({ max: 30 }),
      back: fc.nat({ max: 40 }),
      leaveAfter: fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 8 },
  );
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 30, maxLength: 30 });
  const turns = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 20 });

  it('gets every event once and in order, whenever it comes, leaves and comes again', async () => {
    await fc.assert(
      fc.asyncProperty(moments, sizes, turns, async (subscribers, batches, slowness) => {
        const claim = await claimedRun(journal);
        const feeds = new Feeds(late(journal, slowness));
        let next = 0;
        const watching = [];
        for (const [i, size] of batches.entries()) {
          for (const { attachAt, back, leaveAfter } of subscribers) {
            if (attachAt !== i) continue;
            const cursor = Math.max(-1, next - 1 - back);
            watching.push({ cursor, seen: collect(feeds, claim.runId, cursor, { leaveAfter }) });
          }
          await journal.append(
            claim,
            counting(size).map((n) => delta(`${next + n}`)),
          );
          next += size;
        }
        await journal.append(claim, [completed()]);

        for (const { cursor, seen } of watching) {
          await seen.ended;
          expect(seen.seqs()).toEqual(after(cursor, next));
        }
        expect(feeds.size).toBe(0);
      }),
      { numRuns: 10 },
    );
  });

  it('that comes after the end gets everything and the end', async () => {
    const runId = await finishedRun(journal, {}, delta('a'), delta('b'), completed());
    const feeds = new Feeds(journal);
    const seen = collect(feeds, runId);
    await seen.ended;
    expect(seen.events.map(({ event }) => event)).toEqual([
      'message.delta',
      'message.delta',
      'run.completed',
    ]);
    const rest = collect(feeds, runId, 1);
    await rest.ended;
    expect(rest.seqs()).toEqual([2]);
    expect(feeds.size).toBe(0);
  });

  it('gets everything, like each of a hundred others', async () => {
    const claim = await claimedRun(journal);
    const feeds = new Feeds(journal);
    const all = counting(100).map(() => collect(feeds, claim.runId));
    expect(feeds.size).toBe(100);
    for (let i = 0; i < 30; i++) await journal.append(claim, [delta(), delta()]);
    await journal.append(claim, [completed()]);
    for (const seen of all) {
      await seen.ended;
      expect(seen.seqs()).toEqual(after(-1, 60));
    }
  });

  it('catches up over many pages, each when it is ready for it', async () => {
    const claim = await claimedRun(journal);
    for (let i = 0; i < 5; i++)
      await journal.append(
        claim,
        counting(500).map((n) => delta(`${n}`)),
      );
    const feeds = new Feeds(journal);
    let ready = (): void => {};
    const sizes: number[] = [];
    const seen = collect(feeds, claim.runId, -1, {
      onBatch: (batch) => sizes.push(batch.length),
      ready: () =>
        new Promise((resolve) => {
          ready = resolve;
        }),
    });
    await waitFor(() => expect(sizes).toEqual([1000]));
    await journal.append(claim, [completed()]);
    expect(sizes).toEqual([1000]);
    ready();
    await waitFor(() => expect(sizes).toEqual([1000, 1000]));
    ready();
    await seen.ended;
    expect(seen.seqs()).toEqual(after(-1, 2500));
  });

  it('that is never ready delays nobody else', async () => {
    const claim = await claimedRun(journal);
    for (let i = 0; i < 3; i++)
      await journal.append(
        claim,
        counting(500).map(() => delta()),
      );
    const feeds = new Feeds(journal);
    const stuck = collect(feeds, claim.runId, -1, { ready: () => new Promise(() => {}) });
    const live = collect(feeds, claim.runId, -1);
    await journal.append(claim, [completed()]);
    await live.ended;
    expect(live.seqs()).toEqual(after(-1, 1500));
    expect(stuck.seqs()).toEqual(after(-1, 999));
    stuck.detach();
    expect(feeds.size).toBe(0);
  });

  it('that detaches while it gets a batch gets nothing more, and the others do', async () => {
    const claim = await claimedRun(journal);
    const feeds = new Feeds(journal);
    const leaving = collect(feeds, claim.runId, -1, { onBatch: () => leaving.detach() });
    const staying = collect(feeds, claim.runId);
    await journal.append(claim, [delta()]);
    await waitFor(() => expect(staying.events).toHaveLength(1));
    expect(feeds.size).toBe(1);
    await journal.append(claim, [delta(), completed()]);
    await staying.ended;
    expect(leaving.seqs()).toEqual([0]);
    expect(staying.seqs()).toEqual([0, 1, 2]);
  });
});

it('replays proceed page by page, one per turn of the event loop, however fast their readers are', async () => {
  const claim = await claimedRun(journal);
  for (let i = 0; i < 5; i++)
    await journal.append(
      claim,
      Array.from({ length: 1000 }, () => delta()),
    );
  await journal.append(claim, [completed()]);
  let turn = 0;
  let counter = setImmediate(function count() {
    turn += 1;
    counter = setImmediate(count);
  });
  onTestFinished(() => clearImmediate(counter));

  const turns: number[] = [];
  const feeds = new Feeds(journal);
  const readers = Array.from({ length: 3 }, () =>
    collect(feeds, claim.runId, -1, { onBatch: ([first]) => void (first.seq > 0 && turns.push(turn)) }),
  );
  await Promise.all(readers.map(({ ended }) => ended));
  for (const reader of readers) expect(reader.seqs()).toEqual(counting(5001));
  expect(turns).toHaveLength(15);
  expect(new Set(turns).size).toBe(15);
});

describe('a subscriber that is slow to catch up', () => {
  const large = () => delta('x'.repeat(100_000));

  it('gets large events a few at a time', async () => {
    const claim = await claimedRun(journal);
    await journal.append(claim, [...Array.from({ length: 20 }, large), completed()]);
    const sizes: number[] = [];
    const seen = collect(new Feeds(journal), claim.runId, -1, {
      onBatch: (batch) => sizes.push(batch.reduce((sum, { payload }) => sum + payload.length, 0)),
    });
    await seen.ended;
    expect(seen.seqs()).toEqual(counting(21));
    expect(Math.max(...sizes)).toBeLessThan(400_000);
  });

  it('gets an error, and is not left waiting, when the run is evicted meanwhile', async () => {
    const claim = await claimedRun(journal);
    await journal.append(claim, [...Array.from({ length: 20 }, large), completed()]);
    const feeds = new Feeds(journal);
    const seen = collect(feeds, claim.runId, -1, {
      ready: async () => {
        await evictExpired(journal, 0, 10);
      },
    });
    await waitFor(() => expect(seen.failures).toMatchObject([{ code: 'run_not_found' }]));
    expect(seen.seqs()).toEqual(counting(seen.events.length));
    expect(feeds.size).toBe(0);
  });
});
