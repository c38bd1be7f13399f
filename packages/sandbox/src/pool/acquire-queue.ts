/**
 * The callers that wait for a slot, in order of arrival.
 *
 * Every call is a separate caller, even if several wait for one trajectory: each has its own deadline and its own
 * signal, and one that gives up does not affect the others. A caller settles once; a caller that has left gets nothing.
 */
import type { Clock } from './clock.ts';

export interface CallerOptions {
  trajectoryId: string | undefined;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** The error for a caller whose time is over. */
  describeTimeout(): Error;
  /** It gave up: its time is over, or its signal was aborted. */
  onGaveUp(): void;
}

export class Caller<S> {
  readonly trajectoryId: string | undefined;
  readonly arrival: number;
  readonly slot: Promise<S>;
  readonly #resolve: (slot: S) => void;
  readonly #reject: (error: unknown) => void;
  readonly #letGo: () => void;
  #waiting = true;

  constructor(arrival: number, clock: Clock, options: CallerOptions) {
    const { trajectoryId, timeoutMs, signal, describeTimeout, onGaveUp } = options;
    this.trajectoryId = trajectoryId;
    this.arrival = arrival;
    const { promise, resolve, reject } = Promise.withResolvers<S>();
    this.slot = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    const giveUp = (error: unknown) => {
      this.fail(error);
      onGaveUp();
    };
    const onAbort = () => giveUp(signal?.reason);
    const cancelTimer = clock.after(timeoutMs, () => giveUp(describeTimeout()));
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#letGo = () => {
      cancelTimer();
      signal?.removeEventListener('abort', onAbort);
    };
  }

  get waiting(): boolean {
    return this.#waiting;
  }

  serve(slot: S): void {
    if (this.#settle()) this.#resolve(slot);
  }

  fail(error: unknown): void {
    if (this.#settle()) this.#reject(error);
  }

  #settle(): boolean {
    const settles = this.#waiting;
    this.#waiting = false;
    this.#letGo();
    return settles;
  }
}

export class AcquireQueue<S> {
  readonly #clock: Clock;
  /** By arrival, and in that order. */
  #line = new Map<number, Caller<S>>();
  readonly #byTrajectory = new Map<string, Set<Caller<S>>>();
  #anonymous = 0;
  #arrivals = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#line.size;
  }

  /** How many slots would serve everyone. */
  get demand(): number {
    return this.#anonymous + this.#byTrajectory.size;
  }

  waitsFor(trajectoryId: string): boolean {
    return this.#byTrajectory.has(trajectoryId);
  }

  /** A caller with its position in the order of arrival; it waits in the queue after it was lined up. */
  arrive(options: CallerOptions): Caller<S> {
    return new Caller<S>(this.#arrivals++, this.#clock, options);
  }

  /** Puts a new caller at the end. */
  lineUp(caller: Caller<S>): void {
    this.#line.set(caller.arrival, caller);
    const { trajectoryId } = caller;
    if (trajectoryId === undefined) this.#anonymous++;
    else
      this.#byTrajectory.set(trajectoryId, (this.#byTrajectory.get(trajectoryId) ?? new Set()).add(caller));
  }

  /** Puts callers that still wait back into their positions. */
  comeBack(callers: readonly Caller<S>[]): void {
    const waiting = callers.filter((caller) => caller.waiting);
    if (waiting.length === 0) return;
    for (const caller of waiting) this.lineUp(caller);
    this.#line = new Map([...this.#line].sort(([a], [b]) => a - b));
  }

  leave(caller: Caller<S>): void {
    if (!this.#line.delete(caller.arrival)) return;
    const { trajectoryId } = caller;
    if (trajectoryId === undefined) this.#anonymous--;
    else {
      const others = this.#byTrajectory.get(trajectoryId);
      others?.delete(caller);
      if (others?.size === 0) this.#byTrajectory.delete(trajectoryId);
    }
  }

  first(mayBeServed: (trajectoryId: string | undefined) => boolean): Caller<S> | undefined {
    for (const caller of this.#line.values()) if (mayBeServed(caller.trajectoryId)) return caller;
    return undefined;
  }

  /** Removes the caller, and everyone who waits for the same trajectory: one slot serves them all. */
  take(caller: Caller<S>): Caller<S>[] {
    const { trajectoryId } = caller;
    const same = trajectoryId === undefined ? undefined : this.#byTrajectory.get(trajectoryId);
    const served = same ? [...same] : [caller];
    for (const each of served) this.leave(each);
    return served;
  }

  failAll(error: unknown): void {
    for (const caller of [...this.#line.values()]) {
      this.leave(caller);
      caller.fail(error);
    }
  }
}
