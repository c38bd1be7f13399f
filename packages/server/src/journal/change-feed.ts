/**
 * Live feeds of runs: what has changed since a place, then every further change, in the latest state of each run.
 *
 * All feeds of a process share one reader. A new subscriber first catches up alone, as fast as it reads, and then joins.
 * There is no gap between the two: the reader begins each read at the earliest place of a subscriber. A subscriber gets
 * no run that its own place includes.
 *
 * Changes of a run are merged. The first goes out at once; then changes collect for a while. The more work they are, the
 * longer they collect, so that text of a thousand runs costs no more than a share of the processor.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ChangedRun, type ChangePlace, type Changes, earlier } from './changes.ts';
import type { StoredRun } from './run-state.ts';

const COLLECT_MS = 250;
/** A read and its delivery take at most this share of the time. */
const WORK_SHARE = 0.2;
/** How many runs are read at a time, and how large their states may be together. */
const [TOGETHER_MAX, TOGETHER_CHARS] = [100, 256 * 1024];

/** `place`: a reader that has this run and those before it continues there. */
export interface RunChange {
  run: StoredRun;
  place: ChangePlace;
}

export type ChangeBatch = readonly [RunChange, ...RunChange[]];

export interface ChangeSubscriber {
  deliver(batch: ChangeBatch): void;
  /** Called between batches while catching up. Resolves when the subscriber can take more. */
  ready?(): Promise<void>;
  /** The changes could not be read; nothing follows. The subscriber may attach again at its place. */
  fail(error: unknown): void;
}

interface Member {
  owner: string;
  subscriber: ChangeSubscriber;
  place: ChangePlace;
  live: boolean;
}

export class ChangeFeed {
  readonly #changes: Changes;
  readonly #members = new Set<Member>();
  #unwatch: (() => void) | undefined;
  #dirty = false;
  #reading = false;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  get size(): number {
    return this.#members.size;
  }

  /** Delivers what changes of the owner's runs after the place, until detached. */
  attach(owner: string, place: ChangePlace, subscriber: ChangeSubscriber): () => void {
    const member: Member = { owner, subscriber, place, live: false };
    this.#members.add(member);
    // Before the first read: what is committed after it wakes the reader.
    this.#unwatch ??= this.#changes.watch(() => this.#wake());
    void this.#catchUp(member);
    return () => this.#remove(member);
  }

  async #catchUp(member: Member): Promise<void> {
    try {
      const { changed, place } = await this.#changes.read([member.owner], member.place);
      for await (const batch of this.#batches(changed, place)) {
        if (!this.#members.has(member)) return;
        member.subscriber.deliver(batch);
        await member.subscriber.ready?.();
        // A fast reader takes each batch without a pause: others have their turn in between.
        await nextTurn();
      }
      member.place = place;
      member.live = true;
      this.#wake();
    } catch (error) {
      this.#drop(member, error);
    }
  }

  /** The changed runs as they are now. Each comes with the place from which a reader that has it continues. */
  async *#batches(changed: readonly ChangedRun[], end: ChangePlace): AsyncGenerator<ChangeBatch> {
    const indexes = new Map(changed.map(({ ordinal }, index) => [ordinal, index]));
    const placeAfter = (index: number): ChangePlace => {
      const next = changed[index + 1];
      return next === undefined ? end : { mark: Math.min(next.mark, end.mark), history: end.history };
    };
    for (let from = 0; from < changed.length; ) {
      const wanted = changed.slice(from, from + TOGETHER_MAX);
      const runs = await this.#changes.runs(
        wanted.map(({ ordinal }) => ordinal),
        TOGETHER_CHARS,
      );
      const batch = runs.map((run) => ({ run, place: placeAfter(indexes.get(run.ordinal)!) }));
      const last = runs.at(-1);
      from = last === undefined ? from + wanted.length : indexes.get(last.ordinal)! + 1;
      if (isBatch(batch)) yield batch;
    }
  }

  #wake(): void {
    this.#dirty = true;
    if (!this.#reading) void this.#keepReading();
  }

  async #keepReading(): Promise<void> {
    this.#reading = true;
    while (this.#dirty && this.#liveMembers().length > 0) {
      this.#dirty = false;
      const startedAt = performance.now();
      const delivered = await this.#read(this.#liveMembers());
      if (!delivered) continue;
      const workedMs = performance.now() - startedAt;
      await collect(Math.max(COLLECT_MS, workedMs / WORK_SHARE - workedMs));
    }
    this.#reading = false;
  }

  async #read(members: readonly Member[]): Promise<boolean> {
    try {
      const owners = [...new Set(members.map(({ owner }) => owner))];
      const from = members.map(({ place }) => place).reduce(earlier);
      const { changed, place } = await this.#changes.read(owners, from);
      const marks = new Map(changed.map(({ ordinal, mark }) => [ordinal, mark]));
      for await (const batch of this.#batches(changed, place)) this.#deliver(members, batch, marks);
      for (const member of members) member.place = place;
      return changed.length > 0;
    } catch (error) {
      for (const member of members) this.#drop(member, error);
      return false;
    }
  }

  #deliver(members: readonly Member[], batch: ChangeBatch, marks: ReadonlyMap<number, number>): void {
    // Subscribers at the same place get the same batch: they share its bytes.
    const alike = Map.groupBy(members, ({ owner, place }) => `${place.mark} ${owner}`);
    for (const group of alike.values()) {
      const { owner, place } = group[0]!;
      const fresh = batch.filter(({ run }) => run.owner === owner && marks.get(run.ordinal)! >= place.mark);
      if (!isBatch(fresh)) continue;
      for (const member of group) this.#offer(member, fresh);
    }
  }

  /** A subscriber that throws fails alone: the others still get the batch. */
  #offer(member: Member, batch: ChangeBatch): void {
    if (!this.#members.has(member)) return;
    try {
      member.subscriber.deliver(batch);
    } catch (error) {
      this.#drop(member, error);
    }
  }

  #liveMembers(): Member[] {
    return [...this.#members].filter(({ live }) => live);
  }

  #drop(member: Member, error: unknown): void {
    if (!this.#members.has(member)) return;
    this.#remove(member);
    member.subscriber.fail(error);
  }

  #remove(member: Member): void {
    this.#members.delete(member);
    if (this.#members.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}

function isBatch(changes: readonly RunChange[]): changes is ChangeBatch {
  return changes.length > 0;
}

/** Nothing stays running only for a feed. */
function collect(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
