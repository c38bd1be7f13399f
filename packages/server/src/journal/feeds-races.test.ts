import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Feeds } from './feeds.ts';
import { collect, ManualSource } from './testing/feeds.ts';
import { counting } from './testing/records.ts';

let source: ManualSource;
let feeds: Feeds;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
  source = new ManualSource();
  feeds = new Feeds(source);
});
afterEach(() => vi.useRealTimers());

const oldestRead = () => {
  const read = source.reads.shift();
  if (read === undefined) throw new Error('Nothing is being read');
  return read;
};
/** Ends the window in which events collect. */
const windowEnds = () => vi.runAllTimersAsync();

/** Answers all reads until nothing is left to do. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) {
    while (source.reads.length > 0) await oldestRead().answer();
    await windowEnds();
  }
  expect(source.reads).toEqual([]);
}

async function liveSubscriber(options: Parameters<typeof collect>[3] = {}) {
  const seen = collect(feeds, 'run', -1, options);
  await settle();
  return seen;
}

describe('the last event', () => {
  it('does not wait for the window that the event before it has opened', async () => {
    const seen = await liveSubscriber();
    source.append(1);
    await oldestRead().answer();
    source.append(1, 'run.completed');
    await oldestRead().answer();
    expect(seen.seqs()).toEqual([0, 1]);
  });

  it('leaves after the read that was under way when it came', async () => {
    const seen = await liveSubscriber();
    source.append(1);
    const read = oldestRead();
    source.append(1, 'run.completed');
    await read.answer();
    await oldestRead().answer();
    expect(seen.seqs()).toEqual([0, 1]);
  });
});

describe('a subscriber that has caught up', () => {
  it('reads again only if something came while it read', async () => {
    collect(feeds, 'run');
    await oldestRead().answer();
    expect(source.reads, 'nothing came').toEqual([]);

    source = new ManualSource();
    feeds = new Feeds(source);
    const surprised = collect(feeds, 'run');
    const readBefore = oldestRead();
    source.append();
    await readBefore.answer();
    expect(surprised.seqs()).toEqual([]);
    await oldestRead().answer();
    expect(surprised.seqs()).toEqual([0]);
  });
});

describe('events that a wake-up brings', () => {
  it('are delivered without a read', async () => {
    const seen = await liveSubscriber();
    source.bring(2);
    expect(seen.seqs()).toEqual([0, 1]);
    source.bring(1);
    source.bring(1);
    await windowEnds();
    expect(seen.seqs()).toEqual([0, 1, 2, 3]);
    source.bring(1, 'run.completed');
    expect(seen.seqs()).toEqual([0, 1, 2, 3, 4]);
    expect(source.reads).toEqual([]);
  });

  it('are read if others came before them', async () => {
    const seen = await liveSubscriber();
    source.bring(1);
    source.append(1);
    source.bring(1);
    await windowEnds();
    expect(seen.seqs()).toEqual([0]);
    await settle();
    expect(seen.seqs()).toEqual([0, 1, 2]);
  });

  it('are not delivered again after a read that found them', async () => {
    const seen = await liveSubscriber();
    source.append(1);
    const read = oldestRead();
    source.bring(1);
    source.append(0);
    await read.answer();
    await settle();
    source.bring(1);
    await settle();
    expect(seen.seqs()).toEqual([0, 1, 2]);
  });

  it('reach a subscriber that is catching up', async () => {
    const seen = collect(feeds, 'run', -1);
    const read = oldestRead();
    source.bring(2);
    await read.answer();
    source.bring(1);
    await settle();
    expect(seen.seqs()).toEqual([0, 1, 2]);
  });
});

describe('between catching up and live', () => {
  it('an event appended while the last page is being read is not lost', async () => {
    const seen = collect(feeds, 'run');
    source.append(2);
    await settle();
    expect(seen.seqs()).toEqual([0, 1]);
  });

  it('a subscriber whose page came late misses nothing that the live ones got meanwhile', async () => {
    const live = await liveSubscriber();
    const behind = collect(feeds, 'run');
    const slow = oldestRead();
    source.append(3);
    await settle();
    expect(live.seqs()).toEqual([0, 1, 2]);
    await slow.answer();
    source.append(1);
    await settle();
    expect(behind.seqs()).toEqual([0, 1, 2, 3]);
    expect(live.seqs()).toEqual([0, 1, 2, 3]);
  });

  it('a subscriber that joins as the only live one leaves during a read does not get that read', async () => {
    const leaving = await liveSubscriber();
    const behind = collect(feeds, 'run');
    const slow = oldestRead();
    source.append(2);
    await settle();
    source.append(1);
    await windowEnds();
    const forTheLeaving = oldestRead();
    leaving.detach();
    await slow.answer();
    await forTheLeaving.answer();
    await settle();
    expect(behind.seqs()).toEqual([0, 1, 2]);
  });

  it('a subscriber that is ahead of the feed gets nothing twice', async () => {
    await liveSubscriber();
    source.append(3);
    const forTheFeed = oldestRead();
    const ahead = collect(feeds, 'run');
    await oldestRead().answer();
    expect(ahead.seqs()).toEqual([0, 1, 2]);
    await forTheFeed.answer();
    await settle();
    expect(ahead.seqs()).toEqual([0, 1, 2]);
  });

  it('a cursor beyond the log delays nobody', async () => {
    const beyond = collect(feeds, 'run', 100);
    await settle();
    const seen = collect(feeds, 'run');
    source.append(3);
    await settle();
    expect(seen.seqs()).toEqual([0, 1, 2]);
    expect(beyond.seqs()).toEqual([]);
  });
});

it('an event is read once, however many are live', async () => {
  const all = [];
  for (let i = 0; i < 50; i++) all.push(await liveSubscriber());
  source.append();
  expect(source.reads).toHaveLength(1);
  await oldestRead().answer();
  expect(all.map((seen) => seen.seqs())).toEqual(counting(50).map(() => [0]));
  expect(source.reads).toEqual([]);
});

it('a subscriber that waits for the first event gets it without waiting for a window', async () => {
  const seen = collect(feeds, 'run');
  while (source.reads.length > 0) await oldestRead().answer();
  source.append();
  await oldestRead().answer();
  expect(seen.seqs()).toEqual([0]);
});

describe('a burst', () => {
  it('sends its first event at once and collects the rest', async () => {
    const sizes: number[] = [];
    await liveSubscriber({ onBatch: (batch) => sizes.push(batch.length) });
    source.append();
    await oldestRead().answer();
    expect(sizes).toEqual([1]);
    for (let i = 0; i < 20; i++) source.append();
    expect(source.reads).toEqual([]);
    await settle();
    expect(sizes).toEqual([1, 20]);
  });

  it('reads a burst longer than a page to its end without waiting for a window', async () => {
    const seen = await liveSubscriber();
    source.append(2500);
    for (let i = 0; i < 3; i++) await oldestRead().answer();
    expect(seen.events).toHaveLength(2500);
  });
});

describe('a read that fails', () => {
  const error = new Error('disk');

  it('while catching up fails that subscriber alone', async () => {
    const live = await liveSubscriber();
    const failing = collect(feeds, 'run');
    await oldestRead().refuse(error);
    expect(failing.failures).toEqual([error]);
    source.append();
    await settle();
    expect(live.seqs()).toEqual([0]);
    expect(failing.seqs()).toEqual([]);
    expect(feeds.size).toBe(1);
  });

  it('for the feed fails all live subscribers, once, and each can attach again at its cursor', async () => {
    const all = [await liveSubscriber(), await liveSubscriber()];
    source.append();
    await settle();
    source.append();
    await oldestRead().refuse(error);
    await settle();
    expect(all.map((seen) => seen.failures)).toEqual([[error], [error]]);
    expect(feeds.size).toBe(0);
    expect(source.watchers).toBe(0);

    const again = collect(feeds, 'run', 0);
    await settle();
    source.append();
    await settle();
    expect(again.seqs()).toEqual([1, 2]);
    expect(all[0]!.seqs()).toEqual([0]);
  });

  it('lets a subscriber attach again from within fail', async () => {
    let again: ReturnType<typeof collect> | undefined;
    await liveSubscriber({
      onFail: () => {
        again = collect(feeds, 'run');
      },
    });
    source.append();
    await oldestRead().refuse(error);
    await settle();
    expect(again?.seqs()).toEqual([0]);
  });

  it('for the feed does not affect subscribers that are still catching up', async () => {
    await liveSubscriber();
    source.append();
    const forTheFeed = oldestRead();
    const catchingUp = collect(feeds, 'run');
    await forTheFeed.refuse(error);
    await settle();
    expect(catchingUp.failures).toEqual([]);
    expect(catchingUp.seqs()).toEqual([0]);
  });
});

describe('a subscriber that throws', () => {
  it('gets the error and is removed; the others get everything', async () => {
    const error = new Error('closed socket');
    const broken = await liveSubscriber({
      onBatch() {
        throw error;
      },
    });
    const sound = await liveSubscriber();
    source.append(2);
    await settle();
    source.append(1);
    await settle();
    expect(sound.seqs()).toEqual([0, 1, 2]);
    expect(sound.failures).toEqual([]);
    expect(broken.failures).toEqual([error]);
    expect(feeds.size).toBe(1);
  });
});

describe('nothing is left', () => {
  it('when a subscriber detaches, at whatever point it is', async () => {
    const steps: (() => unknown)[] = [
      () => {}, // while its first page is read
      () => oldestRead().answer(), // waiting for events
      () => source.append(), // while the feed reads
      () => oldestRead().answer(), // in the turn before the window
      () => vi.advanceTimersToNextTimerAsync(), // in the window
      () => vi.advanceTimersToNextTimerAsync(), // waiting for more events
      () => source.append(), // reading one
    ];
    for (const point of counting(steps.length)) {
      source = new ManualSource();
      feeds = new Feeds(source);
      const seen = collect(feeds, 'run');
      expect(source.watchers).toBe(1);
      for (const step of steps.slice(0, point + 1)) await step();
      expect(feeds.size).toBe(1);
      const got = [...seen.events];
      seen.detach();
      seen.detach();
      expect([feeds.size, source.watchers, vi.getTimerCount()]).toEqual([0, 0, 0]);
      for (const read of source.reads.splice(0)) await read.answer();
      await windowEnds();
      expect([seen.events, source.reads, vi.getTimerCount()]).toEqual([got, [], 0]);
    }
  });

  it('when the run ends', async () => {
    const all = [await liveSubscriber(), await liveSubscriber(), collect(feeds, 'run')];
    source.append(1, 'run.completed');
    while (source.reads.length > 0) await oldestRead().answer();
    expect(all.map((seen) => seen.seqs())).toEqual([[0], [0], [0]]);
    expect([feeds.size, source.watchers, vi.getTimerCount()]).toEqual([0, 0, 0]);
  });

  it('and one watch serves all subscribers of a run', async () => {
    const all = [await liveSubscriber(), await liveSubscriber(), await liveSubscriber()];
    expect([feeds.size, source.watchers]).toEqual([3, 1]);
    for (const seen of all.slice(1)) seen.detach();
    expect([feeds.size, source.watchers]).toEqual([1, 1]);
    all[0]!.detach();
    expect(source.watchers).toBe(0);
  });

  it('of the former feed when a subscriber comes after the last one left', async () => {
    const former = await liveSubscriber();
    source.append();
    former.detach();
    const seen = await liveSubscriber();
    source.append();
    await settle();
    expect(seen.seqs()).toEqual([0, 1]);
    expect(source.watchers).toBe(1);
  });
});
