/**
 * How many runs of each owner are queued, under a lease and parked, and whose turn is next. The counts are in memory,
 * because a create must not count a long queue to learn that it is full. So they follow the transaction by hand: `mark`
 * before, `rollBack` to that mark when it is undone, `settle` when it is committed.
 */
import type { QueueDepth } from '../journal.ts';

/** Where an unfinished run is; one that waits for an approval is `asking`, and any other parked one is `parked`. */
export type QueuePlace = 'queued' | 'leased' | 'parked' | 'asking';

interface OwnerCounts extends Record<QueuePlace, number> {
  /** Grows with each turn; 0 means none since the start. */
  lastTurn: number;
}

interface Move {
  owner: string;
  from: QueuePlace | undefined;
  to: QueuePlace | undefined;
}

export class QueueCounts {
  readonly #total: Record<QueuePlace, number> = { queued: 0, leased: 0, parked: 0, asking: 0 };
  /** Never shrinks: there are at most as many owners as keys were ever configured. */
  readonly #owners = new Map<string, OwnerCounts>();
  readonly #moves: Move[] = [];
  #turns = 0;

  get depth(): QueueDepth {
    const { queued, leased, parked, asking } = this.#total;
    return { queued, leased, waiting: parked + asking, waitingForApproval: asking };
  }

  queuedOf(owner: string): number {
    return this.#owners.get(owner)?.queued ?? 0;
  }

  /** A run is created (from nowhere), claimed, released, parked, or ends (to nowhere). */
  move(owner: string, from: QueuePlace | undefined, to: QueuePlace | undefined): void {
    this.#apply({ owner, from, to }, 1);
    this.#moves.push({ owner, from, to });
  }

  takeTurn(owner: string): void {
    this.#turns += 1;
    this.#of(owner).lastTurn = this.#turns;
  }

  /** The next of the owners whose runs may wait, without those that were `passed` over. A lease that has ended still counts. */
  nextOwner(passed: ReadonlySet<string>): string | undefined {
    let next: (OwnerCounts & { owner: string }) | undefined;
    for (const [owner, counts] of this.#owners) {
      if (counts.queued + counts.leased === 0 || passed.has(owner)) continue;
      if (next === undefined || isBefore(counts, next)) next = { owner, ...counts };
    }
    return next?.owner;
  }

  mark(): number {
    return this.#moves.length;
  }

  rollBack(mark: number): void {
    for (const move of this.#moves.splice(mark).reverse()) this.#apply(move, -1);
  }

  settle(): void {
    this.#moves.length = 0;
  }

  #apply({ owner, from, to }: Move, by: 1 | -1): void {
    for (const counts of [this.#total, this.#of(owner)]) {
      if (from !== undefined) counts[from] -= by;
      if (to !== undefined) counts[to] += by;
    }
  }

  #of(owner: string): OwnerCounts {
    let counts = this.#owners.get(owner);
    if (counts === undefined) {
      counts = { queued: 0, leased: 0, parked: 0, asking: 0, lastTurn: 0 };
      this.#owners.set(owner, counts);
    }
    return counts;
  }
}

function isBefore(a: OwnerCounts, b: OwnerCounts): boolean {
  return a.leased === b.leased ? a.lastTurn < b.lastTurn : a.leased < b.leased;
}
