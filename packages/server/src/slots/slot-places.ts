/**
 * How many slots clients may hold, and who is next when there are too few.
 *
 * - All keys together hold at most `max` places, each key at most `maxPerOwner`.
 * - A caller that finds no place waits until one is free or its signal aborts; then it holds nothing.
 * - A free place goes to the waiting key that holds the fewest. Among equal keys it goes to the one that got a place
 *   longest ago, and within a key to the caller that came first.
 * - A key has at most `maxWaiting` callers waiting; one more is refused at once.
 */
import { TalariaError } from '@talaria/protocol';
import type { QueuePace } from '../basics/queue-pace.ts';

export interface SlotPlacesOptions {
  max: number;
  maxPerOwner: number;
  /** How many callers of one key may wait. */
  maxWaiting: number;
  /** How fast places become free while somebody waits. */
  pace: QueuePace;
}

/** Returns the place; a second call does nothing. */
export type GiveBack = () => void;

interface Caller {
  serve(): void;
  refuse(reason: unknown): void;
}

export class SlotPlaces {
  readonly #options: SlotPlacesOptions;
  readonly #held = new Map<string, number>();
  /** By key, each in the order of arrival. */
  readonly #waiting = new Map<string, Set<Caller>>();
  /** When each key last got a place, as a growing number. */
  readonly #servedAt = new Map<string, number>();
  #total = 0;
  #served = 0;
  #closed = false;

  constructor(options: SlotPlacesOptions) {
    this.#options = options;
  }

  get total(): number {
    return this.#total;
  }

  held(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  waiting(owner: string): number {
    return this.#waiting.get(owner)?.size ?? 0;
  }

  /** How many places the key could have now. */
  free(owner: string): number {
    const { max, maxPerOwner } = this.#options;
    return Math.max(0, Math.min(max - this.#total, maxPerOwner - this.held(owner)));
  }

  /** Rejects with the reason of the signal, `no_slot_free` if too many wait, or `gateway_draining` after `close`. */
  async take(owner: string, signal: AbortSignal): Promise<GiveBack> {
    signal.throwIfAborted();
    if (this.#closed) throw draining();
    // A caller that waits although there is room has reached the quota of its own key, and is not overtaken.
    if (this.free(owner) > 0) return this.#give(owner);
    if (this.waiting(owner) >= this.#options.maxWaiting) throw this.refusal();
    return this.#wait(owner, signal);
  }

  /** The error for a caller that got no place in time. */
  refusal(): TalariaError {
    let waiting = 1;
    for (const callers of this.#waiting.values()) waiting += callers.size;
    return new TalariaError('no_slot_free', { retryAfterS: this.#options.pace.retryAfterS(waiting) });
  }

  /** Nobody gets a place any more. */
  close(): void {
    this.#closed = true;
    for (const callers of this.#waiting.values()) for (const caller of callers) caller.refuse(draining());
    this.#waiting.clear();
  }

  #wait(owner: string, signal: AbortSignal): Promise<GiveBack> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener('abort', giveUp);
        const callers = this.#waiting.get(owner);
        callers?.delete(caller);
        if (callers?.size === 0) this.#waiting.delete(owner);
        if (this.#waiting.size === 0) this.#options.pace.quiet();
      };
      const caller: Caller = {
        serve: () => {
          leave();
          resolve(this.#give(owner));
        },
        refuse: (reason) => {
          leave();
          reject(reason);
        },
      };
      const giveUp = (): void => caller.refuse(signal.reason);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.set(owner, (this.#waiting.get(owner) ?? new Set()).add(caller));
      this.#options.pace.crowded();
    });
  }

  #give(owner: string): GiveBack {
    this.#change(owner, 1);
    this.#servedAt.set(owner, ++this.#served);
    let given = true;
    return () => {
      if (!given) return;
      given = false;
      this.#change(owner, -1);
      this.#options.pace.tick();
      this.#serveNext();
    };
  }

  #serveNext(): void {
    const next = [...this.#waiting.keys()]
      .filter((owner) => this.free(owner) > 0)
      .sort((a, b) => this.held(a) - this.held(b) || this.#lastServed(a) - this.#lastServed(b))[0];
    if (next === undefined) return;
    const [first] = this.#waiting.get(next) ?? [];
    first?.serve();
  }

  #lastServed(owner: string): number {
    return this.#servedAt.get(owner) ?? 0;
  }

  #change(owner: string, by: number): void {
    this.#total += by;
    const held = this.held(owner) + by;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }
}

/** The refusal of a server that stops. */
export function draining(): TalariaError {
  return new TalariaError('gateway_draining', { retryAfterS: 1 });
}
