/**
 * The trees of the last captures. The next capture of an owner is compared with one of its last two: the newest, or the one
 * before if the newest got lost on its way. The least used owners are forgotten first.
 */
import type { CapturedTree } from '../captures/captured-tree.ts';

/** A hundred bytes or two each. */
const MAX_ENTRIES = 400_000;

interface Remembered {
  captureId: string;
  tree: CapturedTree;
}

export class CaptureMemory {
  readonly #maxEntries: number;
  /** The most recently used owner is the last. */
  readonly #owners = new Map<string, Remembered[]>();
  #entries = 0;

  constructor(maxEntries = MAX_ENTRIES) {
    this.#maxEntries = maxEntries;
  }

  find(owner: string, captureId: string | undefined): CapturedTree | undefined {
    return this.#owners.get(owner)?.find((one) => one.captureId === captureId)?.tree;
  }

  /** `since` is the capture that the new one was compared with. */
  keep(owner: string, since: string | undefined, remembered: Remembered): void {
    const kept = this.#owners.get(owner)?.filter((one) => one.captureId === since) ?? [];
    this.#forget(owner);
    this.#owners.set(owner, [...kept, remembered]);
    this.#entries += entriesOf([...kept, remembered]);
    for (const least of this.#owners.keys()) {
      if (this.#entries <= this.#maxEntries || least === owner) break;
      this.#forget(least);
    }
  }

  #forget(owner: string): void {
    this.#entries -= entriesOf(this.#owners.get(owner) ?? []);
    this.#owners.delete(owner);
  }
}

/** Two trees share what did not change between them, but not the tables of their directories. */
function entriesOf(remembered: readonly Remembered[]): number {
  return remembered.reduce((sum, { tree }) => sum + tree.entries, 0);
}
