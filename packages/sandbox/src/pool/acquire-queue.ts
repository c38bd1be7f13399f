/**
 * Those who wait for a slot, in the order in which they came.
 *
 * Every call is a caller of its own, also when several wait for one trajectory: each has its own deadline and its own
 * signal, and whoever gives up leaves the others where they are. A caller settles once; what comes later finds it
 * settled, so nobody who left is given anything.
 */
import type { Clock } from './clock.ts';

export interface CallerOptions {
  trajectoryId: string | undefined;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** What the caller is told when its time is over. */
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
  #callers: Caller<S>[] = [];
  #arrivals = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#callers.length;
  }

  /** A caller with its place in the order of arrival; it waits in the queue once it is lined up. */
  arrive(options: CallerOptions): Caller<S> {
    return new Caller<S>(this.#arrivals++, this.#clock, options);
  }

  /** Puts a caller into its place: the last for one that just came, where it was for one that comes back. */
  lineUp(caller: Caller<S>): void {
    if (!caller.waiting) return;
    const after = this.#callers.findLastIndex(({ arrival }) => arrival < caller.arrival);
    this.#callers.splice(after + 1, 0, caller);
  }

  leave(caller: Caller<S>): void {
    const index = this.#callers.indexOf(caller);
    if (index >= 0) this.#callers.splice(index, 1);
  }

  first(mayBeServed: (trajectoryId: string | undefined) => boolean): Caller<S> | undefined {
    return this.#callers.find(({ trajectoryId }) => mayBeServed(trajectoryId));
  }

  /** Takes the caller out, and with it everyone who waits for the same trajectory: one slot serves them all. */
  take(caller: Caller<S>): Caller<S>[] {
    const { trajectoryId } = caller;
    const served =
      trajectoryId === undefined
        ? [caller]
        : this.#callers.filter((each) => each.trajectoryId === trajectoryId);
    const leaving = new Set(served);
    this.#callers = this.#callers.filter((each) => !leaving.has(each));
    return served;
  }

  /** How many slots would serve everyone who may be served; counted no further than `atMost`. */
  demand(mayBeServed: (trajectoryId: string | undefined) => boolean, atMost: number): number {
    const trajectories = new Set<string>();
    let slots = 0;
    for (const { trajectoryId } of this.#callers) {
      if (slots >= atMost) break;
      if (!mayBeServed(trajectoryId)) continue;
      if (trajectoryId !== undefined) {
        if (trajectories.has(trajectoryId)) continue;
        trajectories.add(trajectoryId);
      }
      slots++;
    }
    return slots;
  }

  failAll(error: unknown): void {
    const callers = this.#callers;
    this.#callers = [];
    for (const caller of callers) caller.fail(error);
  }
}
