/**
 * Live tails of runs: replay from a cursor, then every new event, without a gap or a duplicate between the two.
 *
 * Each watched run has one `Feed`. It gets each new event once, for all subscribers: with the wake-up, if that brings
 * what directly follows the feed's position, and otherwise from the journal. A new
 * subscriber first catches up alone, page by page as fast as it reads, and joins the feed after the last page.
 * There is no gap: the feed watches the journal before the subscriber's first read, and continues from the
 * subscriber that is furthest behind. There is no duplicate: the feed drops events, by seq, that a subscriber
 * already has.
 *
 * Bursts are coalesced: the first event goes out at once, then events collect for a window and leave together,
 * because one write to a socket costs far more than the bytes in it. The window opens after the flush, in a later
 * turn of the event loop: with a thousand subscribers the flush takes longer than the window, so a window opened
 * before the flush would already be over. The last event of a run waits for no window, because nothing can join it.
 */
import { isTerminalEvent } from '@talaria/protocol';
import { TransientMap } from '../basics/transient-map.ts';
import type { Journal, StoredEvent } from './journal.ts';

const WINDOW_MS = 5;
const PAGE = 1000;
/** How far one page can take a subscriber over its bound, however large the events are. */
const PAGE_CHARS = 256 * 1024;

export type EventBatch = readonly [StoredEvent, ...StoredEvent[]];

export interface Subscriber<Batch = EventBatch> {
  /** Gets events in order. Nothing follows a batch that ends with a terminal event. */
  deliver(batch: Batch): void;
  /** Called between pages while catching up. Resolves when the subscriber can take more. */
  ready?(): Promise<void>;
  /** The journal could not be read; nothing follows. The subscriber may attach again at its cursor. */
  fail(error: unknown): void;
}

type Source = Pick<Journal, 'readEvents' | 'watchEvents'>;

export class Feeds {
  readonly #journal: Source;
  readonly #feeds = new TransientMap<Feed>();
  readonly #turns = new Turns();

  constructor(journal: Source) {
    this.#journal = journal;
  }

  /** Subscribers that are attached, over all runs. */
  get size(): number {
    let size = 0;
    for (const feed of this.#feeds.values()) size += feed.size;
    return size;
  }

  /** Delivers everything after `afterSeq` (-1 for all) until the end of the run or until detached. */
  attach(runId: string, afterSeq: number, subscriber: Subscriber): () => void {
    let feed = this.#feeds.get(runId);
    if (feed === undefined) {
      const created: Feed = new Feed(this.#journal, this.#turns, runId, () => {
        if (this.#feeds.get(runId) === created) this.#feeds.delete(runId);
      });
      feed = created;
      this.#feeds.set(runId, feed);
    }
    return feed.attach(afterSeq, subscriber);
  }
}

interface Member {
  subscriber: Subscriber;
  /** The last seq that it got. */
  position: number;
  live: boolean;
}

class Feed {
  readonly #journal: Source;
  readonly #turns: Turns;
  readonly #runId: string;
  readonly #onEmpty: () => void;
  readonly #unwatch: () => void;
  readonly #members = new Set<Member>();
  /** The last seq every live member has: the next read starts after it. Meaningless while none is live. */
  #position = -1;
  #live = 0;
  /** How often the journal has reported something new. */
  #wakeups = 0;
  #dirty = false;
  /** What wake-ups have brought since the last pump; undefined if only the journal has it all. */
  #brought: StoredEvent[] | undefined = [];
  #pumping = false;
  /** The last event is there. */
  #ended = false;
  /** Ends the window before its time; set while it is open. */
  #cancelWindow: (() => void) | undefined;

  constructor(journal: Source, turns: Turns, runId: string, onEmpty: () => void) {
    this.#journal = journal;
    this.#turns = turns;
    this.#runId = runId;
    this.#onEmpty = onEmpty;
    this.#unwatch = journal.watchEvents(runId, (ended, events) => this.#wake(ended, events));
  }

  get size(): number {
    return this.#members.size;
  }

  attach(afterSeq: number, subscriber: Subscriber): () => void {
    const member: Member = { subscriber, position: afterSeq, live: false };
    this.#members.add(member);
    void this.#catchUp(member);
    return () => this.#remove(member);
  }

  async #catchUp(member: Member): Promise<void> {
    let wakeupsBefore = this.#wakeups;
    try {
      while (await this.#givePage(member)) {
        await member.subscriber.ready?.();
        await this.#turns.next();
        if (!this.#members.has(member)) return;
        wakeupsBefore = this.#wakeups;
      }
    } catch (error) {
      this.#drop(member, error);
      return;
    }
    if (!this.#members.has(member)) return;
    if (this.#live === 0) {
      this.#position = member.position;
      this.#brought = [];
    } else {
      this.#position = Math.min(this.#position, member.position);
    }
    member.live = true;
    this.#live += 1;
    // Reads what was appended between its last read and now.
    if (this.#wakeups !== wakeupsBefore) this.#wake();
  }

  /** True when more follows. It is a function of its own so that a page is freed while its reader works on it. */
  async #givePage(member: Member): Promise<boolean> {
    const page = await this.#read(member.position);
    if (!this.#members.has(member)) return false;
    return !this.#give(member, page) && isFull(page);
  }

  #read(afterSeq: number): Promise<StoredEvent[]> {
    return this.#journal.readEvents(this.#runId, afterSeq, PAGE, PAGE_CHARS);
  }

  #wake(ended = false, events?: readonly StoredEvent[]): void {
    this.#wakeups += 1;
    this.#dirty = true;
    this.#brought = this.#live === 0 ? undefined : joined(this.#brought, events);
    if (ended) {
      this.#ended = true;
      this.#cancelWindow?.();
      this.#cancelWindow = undefined;
    }
    if (this.#cancelWindow === undefined && !this.#pumping && this.#live > 0) void this.#pump();
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    this.#dirty = false;
    let delivered = false;
    try {
      for (let full = true; full && this.#live > 0; ) {
        const from = this.#position;
        const page = this.#takeBrought(from) ?? (await this.#read(from));
        // Somebody joined meanwhile at another position: for them this page would leave a gap.
        if (this.#position !== from) continue;
        full = isFull(page);
        const last = page.at(-1);
        if (last === undefined) break;
        this.#position = last.seq;
        delivered = true;
        for (const member of this.#members) if (member.live) this.#offer(member, page);
      }
    } catch (error) {
      for (const member of this.#members) if (member.live) this.#drop(member, error);
    } finally {
      this.#pumping = false;
      // A read that found nothing has sent nothing to wait after: the next event leaves at once.
      if (delivered && !this.#ended) this.#openWindow();
      else if (this.#dirty && this.#live > 0) void this.#pump();
    }
  }

  /** Undefined if there may be more after `from` than wake-ups have brought. */
  #takeBrought(from: number): StoredEvent[] | undefined {
    const brought = this.#brought;
    this.#brought = [];
    const [first] = brought ?? [];
    if (first === undefined || first.seq > from + 1) return undefined;
    return first.seq === from + 1 ? brought : brought?.filter(({ seq }) => seq > from);
  }

  #openWindow(): void {
    if (this.#members.size === 0) return;
    const turn = setImmediate(() => {
      const timer = setTimeout(() => {
        this.#cancelWindow = undefined;
        if (this.#dirty && this.#live > 0) void this.#pump();
      }, WINDOW_MS);
      this.#cancelWindow = () => clearTimeout(timer);
    });
    this.#cancelWindow = () => clearImmediate(turn);
  }

  /** A subscriber that throws fails alone: the others still get the page. */
  #offer(member: Member, page: readonly StoredEvent[]): void {
    try {
      this.#give(member, page);
    } catch (error) {
      this.#drop(member, error);
    }
  }

  /** Delivers what the member does not have yet; true when that was the end of the run. */
  #give(member: Member, page: readonly StoredEvent[]): boolean {
    const last = page.at(-1);
    if (last === undefined || last.seq <= member.position) return false;
    const fresh = page[0]!.seq > member.position ? page : page.filter((event) => event.seq > member.position);
    member.position = last.seq;
    const ended = isTerminalEvent(last.event);
    if (ended) this.#remove(member);
    member.subscriber.deliver(fresh as EventBatch);
    return ended;
  }

  #drop(member: Member, error: unknown): void {
    if (!this.#members.has(member)) return;
    this.#remove(member);
    member.subscriber.fail(error);
  }

  #remove(member: Member): void {
    if (!this.#members.delete(member)) return;
    if (member.live) this.#live -= 1;
    if (this.#members.size > 0) return;
    this.#unwatch();
    this.#cancelWindow?.();
    this.#onEmpty();
  }
}

/**
 * One page of replay per turn of the event loop, over all runs. A fast reader takes each page without a pause, because
 * the system accepts what is written to its socket at once. A long replay would run in one turn and block everything
 * else.
 */
class Turns {
  #last = Promise.resolve();

  next(): Promise<void> {
    this.#last = this.#last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#last;
  }
}

/** Adds the events to the others; undefined if some are missing between them. */
function joined(
  before: StoredEvent[] | undefined,
  events: readonly StoredEvent[] | undefined,
): StoredEvent[] | undefined {
  if (before === undefined || events === undefined) return undefined;
  const last = before.at(-1);
  if (last !== undefined && events[0]?.seq !== last.seq + 1) return undefined;
  before.push(...events);
  return before;
}

/** Whether more may follow. */
function isFull(page: readonly StoredEvent[]): boolean {
  if (page.length === PAGE) return true;
  let chars = 0;
  for (const { payload } of page) chars += payload.length;
  return chars >= PAGE_CHARS;
}
