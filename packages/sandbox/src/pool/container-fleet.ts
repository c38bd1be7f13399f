/**
 * The containers of a pool: starts as many as the target number, watches them, and ends them.
 *
 *   starting ─takes commands→ ready ─a slot in it could not be cleaned, or was its only one→ draining
 *   starting ─failed→ nothing is left of it; the next start waits (backoff.ts)
 *   ready    ─empty for `idleContainerS`, and more are there than aimed for→ stopping
 *   draining ─its last slot was released→ stopping
 *   ready, draining ─did not answer a check, or was seen to die→ stopping
 *   stopping ─ended→ gone
 *   any ─the fleet is closed→ gone
 *
 * - Only a ready container takes new slots. A container never becomes ready again: once given up, it is not trusted any
 *   more.
 * - A container counts towards `maxContainers` from the moment its start begins until it is gone, so there are never
 *   more. The price: at the maximum, a replacement waits for the end of what it replaces.
 * - A container that is lost before it served anybody counts as a failed start: otherwise one that dies at its first
 *   use would be restarted again and again without a pause.
 * - A container that cannot be ended is retried until it can, and counts meanwhile: it may still be using the machine.
 */
import { SandboxError } from '../errors.ts';
import { backoffMs, StartBackoff } from './backoff.ts';
import { type Clock, delay } from './clock.ts';
import { PoolContainer } from './pool-container.ts';
import type { Container, PoolDriver } from './pool-driver.ts';

export interface FleetOptions<C extends Container> {
  driver: PoolDriver<C>;
  clock: Clock;
  maxContainers: number;
  idleContainerS: number;
  healthIntervalS: number;
  healthTimeoutS: number;
  /** Called when more callers can be served, or the target number may have changed. */
  onChange(): void;
  onStartFailed(error: Error): void;
  /** A container died. It is ended when this returns. */
  onLost(container: PoolContainer<C>, reason: string): void;
  onGone(container: PoolContainer<C>): void;
  /** One sentence for an operator's log. */
  onTrouble(message: string): void;
}

export class ContainerFleet<C extends Container> {
  readonly #options: FleetOptions<C>;
  readonly #backoff: StartBackoff;
  readonly #starts = new Set<{ done?: Promise<void> }>();
  /** Oldest first. */
  readonly #containers = new Map<string, PoolContainer<C>>();
  readonly #closing = new AbortController();
  #cancelRetry: (() => void) | undefined;
  /** Why the last start failed; cleared when one succeeds. */
  #startFailure: string | undefined;

  constructor(options: FleetOptions<C>) {
    this.#options = options;
    this.#backoff = new StartBackoff(() => options.clock.nowMs());
  }

  /** Resolves when this many are ready. When it rejects, nothing is left. */
  async open(count: number): Promise<void> {
    try {
      await Promise.all(Array.from({ length: count }, () => this.#start()));
      this.#closing.signal.throwIfAborted();
    } catch (error) {
      await this.close().catch(() => {});
      throw error;
    }
  }

  /** Aborts starts in progress; `close` waits for them. */
  abandonStarts(): void {
    this.#closing.abort(new SandboxError('backend_down', 'The pool is stopped.'));
    this.#cancelRetry?.();
  }

  async close(): Promise<void> {
    this.abandonStarts();
    await Promise.allSettled([...this.#starts].map(({ done }) => done));
    const ends = await Promise.allSettled([...this.#containers.values()].map((each) => this.#end(each)));
    const failed = ends.filter((end) => end.status === 'rejected');
    if (failed.length === 0) return;
    throw new SandboxError(
      'backend_down',
      `${failed.length} of ${ends.length} containers could not be ended: ${failed[0]?.reason.message}`,
    );
  }

  get startFailure(): string | undefined {
    return this.#startFailure;
  }

  get starting(): number {
    return this.#starts.size;
  }

  get all(): Iterable<PoolContainer<C>> {
    return this.#containers.values();
  }

  /** Oldest first. */
  get ready(): PoolContainer<C>[] {
    return [...this.#containers.values()].filter(({ state }) => state === 'ready');
  }

  /** How many containers count towards the maximum, including those that start. */
  get size(): number {
    return this.#starts.size + this.#containers.size;
  }

  find(containerId: string): PoolContainer<C> | undefined {
    return this.#containers.get(containerId);
  }

  /**
   * Starts as many as are missing to this number of ready containers, and ends empty ones that have not been needed for
   * long.
   */
  aim(wanted: number): void {
    let there = this.ready.length + this.#starts.size;
    while (there < wanted && this.size < this.#options.maxContainers) {
      const waitMs = this.#backoff.waitMs(this.#starts.size);
      if (waitMs > 0) {
        this.#retryIn(waitMs);
        break;
      }
      this.#start().catch(() => {});
      there++;
    }
    if (there <= wanted) return;
    for (const container of this.#idle().slice(0, there - wanted)) this.#end(container).catch(() => {});
  }

  /** Takes no new slots any more, and ends when its last one is released. */
  drain(container: PoolContainer<C>): void {
    if (container.state === 'ready') container.state = 'draining';
  }

  lose(container: PoolContainer<C>, reason: string): void {
    if (container.state === 'stopping') return;
    container.state = 'stopping';
    const message = `The container ${container.id} was lost: ${reason}`;
    this.#options.onTrouble(message);
    if (!container.served) {
      this.#backoff.failed(container.begun);
      this.#startFailure = message;
    }
    this.#options.onLost(container, reason);
    this.#end(container).catch(() => {});
    this.#options.onChange();
  }

  /** Checks whether the container lives; one that does not answer is lost. */
  async check(container: PoolContainer<C>): Promise<void> {
    if (container.state === 'stopping') return;
    await this.#answer(container).catch((error: Error) => this.lose(container, error.message));
  }

  /** A slot of the container was released. */
  vacated(container: PoolContainer<C>): void {
    if (container.slots.size > 0) return;
    if (container.state === 'draining') this.#end(container).catch(() => {});
    else if (container.state === 'ready') this.#startIdling(container);
  }

  #start(): Promise<void> {
    const start: { done?: Promise<void> } = {};
    this.#starts.add(start);
    start.done = this.#startContainer().finally(() => this.#starts.delete(start));
    return start.done.then(
      () => this.#options.onChange(),
      (error: Error) => {
        this.#options.onStartFailed(error);
        this.#options.onChange();
        throw error;
      },
    );
  }

  async #startContainer(): Promise<void> {
    const { driver, clock, onTrouble } = this.#options;
    const begun = this.#backoff.begin();
    let handle: C;
    try {
      handle = await driver.startContainer(this.#closing.signal);
    } catch (error) {
      this.#backoff.failed(begun);
      this.#startFailure = (error as Error).message;
      if (!this.#closing.signal.aborted) onTrouble(`A container did not start: ${this.#startFailure}`);
      throw error;
    }
    this.#backoff.succeeded();
    this.#startFailure = undefined;
    const container = new PoolContainer(handle, begun, clock.nowMs());
    this.#containers.set(container.id, container);
    this.#watch(container);
    this.#startIdling(container);
  }

  #watch(container: PoolContainer<C>): void {
    const { clock, healthIntervalS } = this.#options;
    container.cancelCheck = clock.after(healthIntervalS * 1000, () => {
      void this.check(container).then(() => {
        if (container.state !== 'stopping') this.#watch(container);
      });
    });
  }

  /** Rejects when the container does not answer within `healthTimeoutS`. */
  async #answer(container: PoolContainer<C>): Promise<void> {
    const { driver, clock, healthTimeoutS } = this.#options;
    const overdue = new AbortController();
    const late = Promise.withResolvers<never>();
    const cancel = clock.after(healthTimeoutS * 1000, () => {
      const error = new Error(`it did not answer a check within ${healthTimeoutS} s`);
      late.reject(error);
      overdue.abort(error);
    });
    try {
      await Promise.race([driver.checkContainer(container.handle, overdue.signal), late.promise]);
    } finally {
      cancel();
    }
  }

  #startIdling(container: PoolContainer<C>): void {
    const { clock, idleContainerS, onChange } = this.#options;
    container.emptySinceMs = clock.nowMs();
    container.cancelIdle();
    container.cancelIdle = clock.after(idleContainerS * 1000, onChange);
  }

  /** The containers that have been empty for long enough, the longest first. */
  #idle(): PoolContainer<C>[] {
    const { clock, idleContainerS } = this.#options;
    const since = clock.nowMs() - idleContainerS * 1000;
    return this.ready
      .filter((container) => container.slots.size === 0 && container.emptySinceMs <= since)
      .sort((a, b) => a.emptySinceMs - b.emptySinceMs);
  }

  #retryIn(waitMs: number): void {
    if (waitMs === Infinity || this.#cancelRetry) return;
    this.#cancelRetry = this.#options.clock.after(waitMs, () => {
      this.#cancelRetry = undefined;
      this.#options.onChange();
    });
  }

  #end(container: PoolContainer<C>): Promise<void> {
    container.state = 'stopping';
    container.cancelCheck();
    container.cancelIdle();
    container.ended ??= this.#stopUntilGone(container);
    return container.ended;
  }

  async #stopUntilGone(container: PoolContainer<C>): Promise<void> {
    const { driver, clock, onTrouble, onGone, onChange } = this.#options;
    try {
      for (let failures = 1; ; failures++) {
        // Nobody comes back after the fleet is closed: the next attempt is the last.
        const last = this.#closing.signal.aborted;
        try {
          return await driver.stopContainer(container.handle);
        } catch (error) {
          onTrouble(`The container ${container.id} could not be ended: ${(error as Error).message}`);
          if (last) throw error;
          await delay(clock, backoffMs(failures), this.#closing.signal);
        }
      }
    } finally {
      this.#containers.delete(container.id);
      onGone(container);
      onChange();
    }
  }
}
