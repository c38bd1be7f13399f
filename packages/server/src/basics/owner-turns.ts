/**
 * Runs work for several owners, at most `max` pieces at a time. Whoever has the fewest pieces in work is next, and of equals the one
 * who was served longest ago. So an owner with much work delays the work of another by no more than the pieces that run at that
 * moment. The smallest piece of an owner comes first, and of equal ones the oldest.
 */
interface Piece {
  size: number;
  begin(): void;
}

interface Owner {
  running: number;
  /** When it was last served, counted in pieces. */
  servedAt: number;
  waiting: Piece[];
}

export class OwnerTurns {
  readonly #owners = new Map<string, Owner>();
  #free: number;
  #served = 0;

  constructor(max: number) {
    this.#free = max;
  }

  async run<T>(name: string, size: number, work: () => Promise<T>): Promise<T> {
    const owner = this.#owners.get(name) ?? { running: 0, servedAt: 0, waiting: [] };
    this.#owners.set(name, owner);
    await new Promise<void>((begin) => {
      owner.waiting.push({ size, begin });
      this.#next();
    });
    try {
      return await work();
    } finally {
      owner.running -= 1;
      this.#free += 1;
      if (owner.running === 0 && owner.waiting.length === 0) this.#owners.delete(name);
      this.#next();
    }
  }

  #next(): void {
    if (this.#free === 0) return;
    let first: Owner | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.waiting.length > 0 && (first === undefined || isBefore(owner, first))) first = owner;
    }
    if (first === undefined) return;
    this.#free -= 1;
    first.running += 1;
    first.servedAt = ++this.#served;
    takeSmallest(first.waiting).begin();
  }
}

function isBefore(one: Owner, other: Owner): boolean {
  return one.running === other.running ? one.servedAt < other.servedAt : one.running < other.running;
}

function takeSmallest(waiting: Piece[]): Piece {
  let smallest = 0;
  for (const [i, { size }] of waiting.entries()) if (size < waiting[smallest]!.size) smallest = i;
  return waiting.splice(smallest, 1)[0]!;
}
