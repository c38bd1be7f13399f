/**
 * Which slot a trajectory works in.
 *
 *   none ─first use→ acquiring ─→ held ─release→ ending ─→ none
 *   acquiring ─failed, or everyone who waited gave up→ none: the next use tries again
 *   held ─its container died→ lost ─next use→ acquiring
 *
 * A trajectory has one acquire or release in progress at a time: if it is used again while its slot is being released,
 * the acquire follows that.
 */
import type { Slot, ToolBackend } from '../backend.ts';

export interface Use {
  slot: Slot;
  /** Aborted when the trajectory is released. */
  released: AbortSignal;
}

/** The wait for a slot was given up, by the caller or by a release. */
export class GaveUp extends Error {}

interface Holding {
  slot: Promise<Slot>;
  /** How many calls wait for the slot. */
  waiting: number;
  lost: boolean;
  released: AbortController;
}

export class TrajectorySlots {
  readonly #backend: ToolBackend;
  readonly #holdings = new Map<string, Holding>();
  readonly #endings = new Map<string, Promise<void>>();

  constructor(backend: ToolBackend) {
    this.#backend = backend;
  }

  /** Rejects with the reason why the slot could not be acquired, or with `GaveUp`. */
  async use(trajectoryId: string, signal: AbortSignal | undefined): Promise<Use> {
    if (signal?.aborted) throw new GaveUp();
    let holding = this.#holdings.get(trajectoryId);
    if (!holding || holding.lost) holding = this.#acquire(trajectoryId);
    const { released } = holding;
    holding.waiting++;
    try {
      const slot = await abortable(holding.slot, signal);
      if (released.signal.aborted) throw new GaveUp();
      return { slot, released: released.signal };
    } catch (error) {
      // A slot that nobody waits for any more must not be taken from those who wait.
      if (signal?.aborted && holding.waiting === 1) this.#end(trajectoryId, holding).catch(() => {});
      throw signal?.aborted || released.signal.aborted ? new GaveUp() : error;
    } finally {
      holding.waiting--;
    }
  }

  /** The slot does not answer any more. */
  lost(trajectoryId: string, { released }: Use): void {
    const holding = this.#holdings.get(trajectoryId);
    if (holding?.released.signal === released) holding.lost = true;
  }

  async release(trajectoryId: string, options: { resetWorkspace: boolean }): Promise<void> {
    const holding = this.#holdings.get(trajectoryId);
    if (holding) await this.#end(trajectoryId, holding, options);
    else await this.#endings.get(trajectoryId);
  }

  async releaseAll(): Promise<void> {
    const ends = [...this.#holdings].map(([trajectoryId, holding]) => this.#end(trajectoryId, holding));
    const settled = await Promise.allSettled([...ends, ...this.#endings.values()]);
    for (const end of settled) if (end.status === 'rejected') throw end.reason;
  }

  #acquire(trajectoryId: string): Holding {
    const released = new AbortController();
    const before = this.#endings.get(trajectoryId);
    const slot = (async () => {
      await before?.catch(() => {});
      released.signal.throwIfAborted();
      return this.#backend.acquire(trajectoryId, { signal: released.signal });
    })();
    const holding = { slot, waiting: 0, lost: false, released };
    this.#holdings.set(trajectoryId, holding);
    slot.catch(() => this.#forget(trajectoryId, holding));
    return holding;
  }

  /** Also ends an acquire that is still in progress. */
  #end(trajectoryId: string, holding: Holding, options?: { resetWorkspace: boolean }): Promise<void> {
    this.#forget(trajectoryId, holding);
    holding.released.abort();
    const ending = (async () => {
      const slot = await holding.slot.catch(() => undefined);
      if (slot) await this.#backend.release(slot, options);
    })().finally(() => {
      if (this.#endings.get(trajectoryId) === ending) this.#endings.delete(trajectoryId);
    });
    this.#endings.set(trajectoryId, ending);
    return ending;
  }

  #forget(trajectoryId: string, holding: Holding): void {
    if (this.#holdings.get(trajectoryId) === holding) this.#holdings.delete(trajectoryId);
  }
}

/** Settles with the work, or rejects with the signal's reason as soon as that is aborted. */
async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
