/**
 * Clears away all there is to clear, a few at a time. One that cannot be cleared now stays for the next time and holds up
 * no other.
 */

/** Small, so that the store is never held up for long. */
const BATCH = 20;

export interface Clearing {
  /** The first of what is there, at most so many. */
  find(limit: number): Promise<string[]>;
  /** False when it cannot be cleared now. */
  clear(id: string): Promise<boolean>;
  /** They are cleared: what is found next is without them. */
  forget(ids: readonly string[]): Promise<void>;
}

export async function clearInBatches({ find, clear, forget }: Clearing, signal: AbortSignal): Promise<void> {
  const stuck = new Set<string>();
  for (let full = true; full && !signal.aborted; ) {
    const limit = BATCH + stuck.size;
    const found = await find(limit);
    full = found.length === limit;
    const due = found.filter((id) => !stuck.has(id));
    const cleared = await Promise.all(due.map(clear));
    for (const [i, id] of due.entries()) if (!cleared[i]) stuck.add(id);
    await forget(due.filter((id) => !stuck.has(id)));
  }
}
