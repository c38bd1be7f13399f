/**
 * Clears everything that is due, a few items at a time. An item that cannot be cleared now stays for the next time and
 * does not delay the others.
 */

/** Small, so that the store is never blocked for long. */
const BATCH = 20;

export interface Clearing {
  /** The first items that are due, at most this many. */
  find(limit: number): Promise<string[]>;
  /** False when it cannot be cleared now. */
  clear(id: string): Promise<boolean>;
  /** These items are cleared: `find` does not return them again. */
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
