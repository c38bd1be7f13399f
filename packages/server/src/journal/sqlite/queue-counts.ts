/**
 * How many runs of each owner wait and how many are under a lease, and whose turn is next. The counts are in memory,
 * because a create must not count a long queue to learn that it is full. So they follow the transaction by hand: `mark`
 * before, `rollBack` to that mark when it is undone, `settle` when it is committed.
 */
import type { QueueDepth } from '../journal.ts';

type Place = keyof QueueDepth;

interface OwnerCounts extends QueueDepth {
  /** Grows with each turn; 0 means none since the start. */
  lastTurn: number;
}

interface Move {
  owner: string;
  from: Place | undefined;
  to: Place | undefined;
}

export class QueueCounts {
  readonly #total: QueueDepth = { queued: 0, leased: 0 };
  /** Never shrinks: there are at most as many owners as keys were ever configured. */
  readonly #owners = new Map<string, OwnerCounts>();
  readonly #moves: Move[] = [];
  #turns = 0;

  get depth(): QueueDepth {
    return { ...this.#total };
  }

  queuedOf(owner: string): number {
    return this.#owners.get(owner)?.queued ?? 0;
  }

  /** A run is created (from nowhere), claimed, released, or ends (to nowhere). */
  move(owner: string, from: Place | undefined, to: Place | undefined): void {
    this.#apply({ owner, from, to }, 1);
    this.#moves.push({ owner, from, to });
  }

  takeTurn(owner: string): void {
    this.#turns += 1;
    this.#of(owner).lastTurn = this.#turns;
  }

  /** The next of the owners with queued runs, without those that were `passed` over. */
  nextOwner(passed: ReadonlySet<string>): string | undefined {
    let next: (OwnerCounts & { owner: string }) | undefined;
    for (const [owner, counts] of this.#owners) {
      if (counts.queued === 0 || passed.has(owner)) continue;
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
      counts = { queued: 0, leased: 0, lastTurn: 0 };
      this.#owners.set(owner, counts);
    }
    return counts;
  }
}

function isBefore(a: OwnerCounts, b: OwnerCounts): boolean {
  return a.leased === b.leased ? a.lastTurn < b.lastTurn : a.leased < b.leased;
}
