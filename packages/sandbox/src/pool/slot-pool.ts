/**
 * Decides who gets which slot: written once for everything that runs containers (pool-driver.ts).
 * container-fleet.ts decides how containers start and end.
 *
 *   available ─the next caller's turn→ opening ─its workspace is in place→ acquired ⇄ executing
 *   opening   ─nobody waits for it any more, or it could not be opened→ releasing
 *   acquired, executing ─release→ releasing ─clean→ available
 *   releasing ─could not be cleaned→ error; its container drains
 *   opening, acquired, executing, releasing ─its container died→ error; those who waited for it go back to their places
 *
 * - A free slot is room in a ready container and has no id. An id is made for one acquire and ends with it.
 * - A trajectory occupies at most one slot, from `opening` until its workspace has left the container: until the slot
 *   was released, or its dead container is gone. Before that nobody gets the trajectory elsewhere, so its workspace
 *   never exists twice.
 * - Callers are served in order of arrival. A caller whose trajectory is still leaving its last slot keeps its place,
 *   but callers with free trajectories pass it: it will get the slot that its trajectory leaves. All callers that wait
 *   for one trajectory get the same slot.
 * - A failed container start fails the waiting callers, but only if no container is left that could serve them and no
 *   other start is in progress. A caller that arrives while starts are delayed (backoff.ts) waits for the next attempt.
 * - The target number of containers covers the slots in use, the waiting callers and `warmSlots`, within the minimum
 *   and the maximum. New slots go to that many containers, oldest first, so that the others become empty.
 * - A slot whose container died answers no call. Releasing it, or releasing anything twice, is harmless.
 */
import type { AcquireOptions, Slot, SlotState } from '../backend.ts';
import { SandboxError } from '../errors.ts';
import { AcquireQueue } from './acquire-queue.ts';
import { Affinity } from './affinity.ts';
import { type Clock, systemClock } from './clock.ts';
import { ContainerFleet } from './container-fleet.ts';
import { type PoolContainer, PooledSlot } from './pool-container.ts';
import type { Container, PoolDriver } from './pool-driver.ts';
import { checkPoolLimits, type PoolLimits } from './pool-limits.ts';
import { describeShortage } from './shortage.ts';

export interface SlotPoolOptions<C extends Container> extends PoolLimits {
  driver: PoolDriver<C>;
  /** Only the container isolates its slots, so after a slot was used its container is ended and not reused. */
  singleUse?: boolean | undefined;
  /** One sentence for an operator's log: a container that died, did not start or could not be ended. */
  onTrouble?: ((message: string) => void) | undefined;
  clock?: Clock | undefined;
}

export interface PoolStats {
  containers: { starting: number; ready: number; draining: number; stopping: number };
  slots: Record<SlotState, number>;
  waiting: number;
  /** Why the last container did not start; cleared when one does. */
  startFailure: string | undefined;
}

/** The signals that end the work in a slot early. */
export interface SlotEnds {
  /** Its holder gave it back. */
  readonly released: AbortSignal;
  /** Its container died; the reason says how. */
  readonly gone: AbortSignal;
}

export class SlotPool<C extends Container> {
  readonly #options: SlotPoolOptions<C>;
  readonly #queue: AcquireQueue<PooledSlot<C>>;
  readonly #affinity = new Affinity<PoolContainer<C>>();
  /** Slots that somebody holds or will hold, by id. */
  readonly #slots = new Map<string, PooledSlot<C>>();
  /** The slot that a trajectory occupies, by trajectory. */
  readonly #occupied = new Map<string, PooledSlot<C>>();
  /** Work on workspaces that are in no slot, and must not enter one meanwhile. */
  readonly #keptWork = new Map<string, Promise<unknown>>();
  /** Slots whose container died and that were not released since. */
  readonly #lost = new WeakSet<Slot>();
  /** Work that has to settle before the containers are ended. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** `start` and `stop` take effect in the order in which they were called. */
  #lifecycle: Promise<void> = Promise.resolve();
  #fleet: ContainerFleet<C> | undefined;
  /** From a complete start until a stop begins. */
  #accepting = false;

  constructor(options: SlotPoolOptions<C>) {
    checkPoolLimits(options);
    this.#options = options;
    this.#queue = new AcquireQueue(options.clock ?? systemClock);
  }

  /** Resolves when the minimum of containers is up. When it rejects, nothing is left of them. */
  start(): Promise<void> {
    return this.#inOrder(() => this.#bringUp());
  }

  /** Fails the waiting callers, and ends every container. */
  stop(): Promise<void> {
    this.#fleet?.abandonStarts();
    return this.#inOrder(() => this.#shutDown());
  }

  /** A slot for the trajectory: the one that holds it, else the first that is free when its turn comes. */
  async acquire(trajectoryId?: string, { signal }: AcquireOptions = {}): Promise<Slot> {
    this.#started();
    signal?.throwIfAborted();
    const occupant = trajectoryId === undefined ? undefined : this.#occupied.get(trajectoryId);
    if (occupant?.phase === 'acquired') return occupant;
    const caller = this.#queue.arrive({
      trajectoryId,
      timeoutMs: this.#options.acquireTimeoutS * 1000,
      signal,
      describeTimeout: () => this.#acquireTimeout(trajectoryId),
      onGaveUp: () => this.#queue.leave(caller),
    });
    if (occupant?.phase === 'opening') occupant.takers.push(caller);
    else this.#queue.lineUp(caller);
    this.#balance();
    return caller.slot;
  }

  /**
   * Releases the slot. With `resetWorkspace` its workspace is deleted, even if its container died before. Rejects with
   * `slot_not_closed` when it could not be cleaned.
   */
  async release(slot: Slot, { resetWorkspace = false }: { resetWorkspace?: boolean } = {}): Promise<void> {
    const held = this.#slots.get(slot.slotId);
    if (held?.phase === 'acquired' && this.#fleet) this.#close(this.#fleet, held, resetWorkspace);
    if (held) await held.closed;
    else if (this.#lost.delete(slot) && resetWorkspace) await this.#resetLost(slot as PooledSlot<C>);
  }

  /** Deletes the workspace of a trajectory that is in no slot. */
  async discard(trajectoryId: string): Promise<void> {
    await this.whileKept(trajectoryId, () => this.#options.driver.discardWorkspace(trajectoryId));
  }

  /** Works on the workspace of a trajectory that is in no slot. One at a time, and until it is done no slot gets it. */
  async whileKept<T>(trajectoryId: string, work: () => Promise<T>): Promise<T> {
    this.#started();
    const occupant = this.#occupied.get(trajectoryId);
    const leaves = occupant?.phase === 'error' ? occupant.container.ended : occupant?.closed;
    if (leaves) await leaves.catch(() => {});
    this.#started();
    if (this.#occupied.has(trajectoryId)) {
      throw new SandboxError('slot_held', `A slot holds the workspace of ${trajectoryId}; release it first.`);
    }
    return await this.#workOnKept(trajectoryId, work);
  }

  /**
   * Works on the workspace of a trajectory where it is: in the container of a slot, whose release waits for it, or kept,
   * and then no slot gets it meanwhile. So the work has to end soon.
   */
  async inPlace<T>(trajectoryId: string, work: (container: C | undefined) => Promise<T>): Promise<T> {
    for (;;) {
      this.#started();
      const occupant = this.#occupied.get(trajectoryId);
      if (!occupant) return await this.#workOnKept(trajectoryId, () => work(undefined));
      const { phase, container } = occupant;
      if (phase === 'acquired') return await occupant.whileExecuting(() => work(container.handle));
      const moved = phase === 'opening' ? occupant.opened : (container.ended ?? occupant.closed);
      await moved?.catch(() => {});
      if (this.#occupied.get(trajectoryId) === occupant && occupant.phase === phase) {
        const message = `The workspace of ${trajectoryId} is in the container ${container.id}, which takes no more work; try again when it has ended.`;
        throw new SandboxError('slot_unavailable', message);
      }
    }
  }

  /** The container of a held slot; undefined after it was released or died. */
  containerOf({ slotId }: Slot): C | undefined {
    const held = this.#slots.get(slotId);
    return held?.phase === 'acquired' ? held.container.handle : undefined;
  }

  /**
   * Works in a slot, which is `executing` meanwhile. Rejects with `slot_gone` if the slot is no longer held. The work
   * has to end soon after one of the signals, because a release waits for it.
   */
  async use<T>(slot: Slot, work: (container: C, ends: SlotEnds) => Promise<T>): Promise<T> {
    const held = this.#slots.get(slot.slotId);
    if (held?.phase === 'acquired') {
      return held.whileExecuting(() => work(held.container.handle, held));
    }
    if (slot instanceof PooledSlot) slot.gone.throwIfAborted();
    throw new SandboxError('slot_gone', `The slot ${slot.slotId} was released.`);
  }

  /** Whether the container of the slot died while somebody held it. */
  isLost(slot: Slot): boolean {
    return slot instanceof PooledSlot && slot.gone.aborted;
  }

  /** For callers that saw a container die while they worked with it. */
  containerFailed({ containerId }: C, reason: string): void {
    const container = this.#fleet?.find(containerId);
    if (container) this.#fleet?.lose(container, reason);
  }

  stats(): PoolStats {
    const containers = { starting: this.#fleet?.starting ?? 0, ready: 0, draining: 0, stopping: 0 };
    const slots = { available: 0, acquired: 0, executing: 0, releasing: 0, error: 0 };
    for (const container of this.#fleet?.all ?? []) {
      containers[container.state]++;
      if (container.state === 'ready') slots.available += this.#room(container);
      for (const { state } of container.slots) slots[state]++;
      slots.error += container.failed.size;
    }
    return { containers, slots, waiting: this.#queue.size, startFailure: this.#fleet?.startFailure };
  }

  async #inOrder(action: () => Promise<void>): Promise<void> {
    this.#lifecycle = this.#lifecycle.then(action, action);
    return this.#lifecycle;
  }

  async #bringUp(): Promise<void> {
    if (this.#accepting) return;
    const { driver, clock = systemClock, onTrouble = () => {}, ...limits } = this.#options;
    const fleet: ContainerFleet<C> = new ContainerFleet<C>({
      ...limits,
      driver,
      clock,
      onTrouble,
      onChange: () => this.#balance(),
      onStartFailed: (error) => this.#startFailed(fleet, error),
      onLost: (container, reason) => this.#loseSlots(container, reason),
      onGone: (container) => this.#containerGone(container),
    });
    this.#fleet = fleet;
    try {
      await fleet.open(limits.minContainers);
    } catch (error) {
      this.#fleet = undefined;
      const cause = error as Error;
      throw new SandboxError('backend_down', `The pool did not start: ${cause.message}`, { cause });
    }
    this.#accepting = true;
    this.#balance();
  }

  async #shutDown(): Promise<void> {
    const fleet = this.#fleet;
    if (!fleet) return;
    this.#accepting = false;
    const stopped = new SandboxError('backend_down', 'The pool is stopped.');
    this.#queue.failAll(stopped);
    for (const slot of this.#slots.values()) {
      for (const taker of slot.takers) taker.fail(stopped);
      if (slot.phase === 'acquired') slot.phase = 'releasing';
    }
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    const held = [...this.#slots.values()];
    try {
      await fleet.close();
      for (const slot of held) if (slot.phase === 'releasing') slot.phase = 'available';
    } finally {
      this.#fleet = undefined;
    }
  }

  #started(): void {
    if (!this.#accepting) throw new SandboxError('backend_down', 'The pool is not started.');
  }

  /** Serves the callers that can be served, then adjusts the number of containers. */
  #balance(): void {
    if (!this.#fleet || !this.#accepting) return;
    const wanted = this.#wanted(this.#fleet);
    this.#serve(this.#fleet, wanted);
    this.#fleet.aim(wanted);
  }

  /** Serving does not change it: a caller that leaves the queue is in a slot. */
  #wanted({ ready }: ContainerFleet<C>): number {
    const { slotsPerContainer, minContainers, maxContainers, warmSlots } = this.#options;
    let slots = warmSlots + this.#queue.demand;
    for (const container of ready) slots += container.slots.size;
    // A caller that waits for a trajectory that leaves a slot will get that slot.
    for (const [trajectoryId, { phase }] of this.#occupied) {
      if (phase === 'releasing' && this.#queue.waitsFor(trajectoryId)) slots--;
    }
    return Math.min(maxContainers, Math.max(minContainers, Math.ceil(slots / slotsPerContainer)));
  }

  #serve(fleet: ContainerFleet<C>, wanted: number): void {
    for (;;) {
      const caller = this.#queue.first(this.#isFree);
      const container = caller && this.#choose(fleet, wanted, caller.trajectoryId);
      if (!container) return;
      const slot = new PooledSlot(container, caller.trajectoryId, this.#queue.take(caller));
      container.slots.add(slot);
      container.cancelIdle();
      this.#slots.set(slot.slotId, slot);
      if (slot.trajectoryId !== undefined) this.#occupied.set(slot.trajectoryId, slot);
      slot.opened = this.#open(fleet, slot);
      this.#track(slot.opened);
    }
  }

  readonly #isFree = (trajectoryId: string | undefined): boolean =>
    trajectoryId === undefined || !(this.#occupied.has(trajectoryId) || this.#keptWork.has(trajectoryId));

  #choose(
    { ready }: ContainerFleet<C>,
    wanted: number,
    trajectoryId: string | undefined,
  ): PoolContainer<C> | undefined {
    const last = trajectoryId === undefined ? undefined : this.#affinity.of(trajectoryId);
    if (last?.state === 'ready' && this.#room(last) > 0) return last;
    return this.#emptiest(ready.slice(0, wanted)) ?? this.#emptiest(ready.slice(wanted));
  }

  #emptiest(containers: PoolContainer<C>[]): PoolContainer<C> | undefined {
    let emptiest: PoolContainer<C> | undefined;
    let most = 0;
    for (const container of containers) {
      const room = this.#room(container);
      if (room > most) [emptiest, most] = [container, room];
    }
    return emptiest;
  }

  #room({ slots }: PoolContainer<C>): number {
    return this.#options.slotsPerContainer - slots.size;
  }

  async #open(fleet: ContainerFleet<C>, slot: PooledSlot<C>): Promise<void> {
    const { container } = slot;
    try {
      const { workspaceDir } = await this.#options.driver.openSlot(container.handle, slot.request);
      slot.workspaceDir = workspaceDir;
      container.served = true;
    } catch (error) {
      // If the container turns out to be dead, its callers are back in the queue after this.
      await fleet.check(container);
      const message = `No slot could be opened in the container ${container.id}: ${(error as Error).message}`;
      for (const taker of slot.takers) taker.fail(new SandboxError('slot_unavailable', message));
    }
    if (slot.phase !== 'opening') return;
    const takers = slot.takers.filter(({ waiting }) => waiting);
    slot.takers = [];
    if (takers.length > 0) slot.phase = 'acquired';
    else this.#close(fleet, slot, false).catch(() => {});
    for (const taker of takers) taker.serve(slot);
  }

  #close(fleet: ContainerFleet<C>, slot: PooledSlot<C>, resetWorkspace: boolean): Promise<void> {
    slot.phase = 'releasing';
    slot.closed = this.#closeSlot(fleet, slot, resetWorkspace);
    this.#track(slot.closed);
    return slot.closed;
  }

  async #closeSlot(fleet: ContainerFleet<C>, slot: PooledSlot<C>, resetWorkspace: boolean): Promise<void> {
    const { container, trajectoryId } = slot;
    // First, before anything happens to the container: the work in the slot must learn of the release and of nothing else.
    await slot.empty();
    try {
      slot.gone.throwIfAborted();
      await this.#options.driver.closeSlot(container.handle, slot.request, { resetWorkspace });
    } catch (error) {
      await fleet.check(container);
      if (slot.gone.aborted) return resetWorkspace ? this.#resetLost(slot) : undefined;
      throw this.#notClosed(fleet, slot, (error as Error).message);
    }
    if (slot.gone.aborted) return;
    slot.phase = 'available';
    this.#forget(slot);
    container.slots.delete(slot);
    if (trajectoryId !== undefined) {
      if (resetWorkspace) this.#affinity.forget(trajectoryId);
      else this.#affinity.remember(trajectoryId, container);
    }
    if (this.#options.singleUse) fleet.drain(container);
    fleet.vacated(container);
    this.#balance();
  }

  /** What its owner left stays in the container until that is gone, and so does the trajectory. */
  #notClosed(fleet: ContainerFleet<C>, slot: PooledSlot<C>, reason: string): SandboxError {
    slot.fail();
    this.#slots.delete(slot.slotId);
    const message = `The slot ${slot.slotId} could not be cleaned, so its container ${slot.containerId} takes no more: ${reason}`;
    this.#options.onTrouble?.(message);
    fleet.drain(slot.container);
    fleet.vacated(slot.container);
    this.#balance();
    return new SandboxError('slot_not_closed', message);
  }

  #loseSlots(container: PoolContainer<C>, reason: string): void {
    for (const slot of [...container.slots]) {
      if (slot.phase === 'acquired') this.#lost.add(slot);
      const message = `The container ${container.id} of the slot ${slot.slotId} was lost: ${reason}`;
      slot.lose(new SandboxError('slot_gone', message));
      this.#slots.delete(slot.slotId);
      this.#queue.comeBack(slot.takers);
      slot.takers = [];
    }
  }

  async #resetLost({ container, trajectoryId }: PooledSlot<C>): Promise<void> {
    await container.ended?.catch(() => {});
    if (trajectoryId !== undefined && this.#accepting && this.#isFree(trajectoryId)) {
      await this.#workOnKept(trajectoryId, () => this.#options.driver.discardWorkspace(trajectoryId));
    }
  }

  #containerGone(container: PoolContainer<C>): void {
    this.#affinity.forgetPlace(container);
    for (const slot of [...container.slots, ...container.failed]) this.#forget(slot);
  }

  #forget(slot: PooledSlot<C>): void {
    this.#slots.delete(slot.slotId);
    const { trajectoryId } = slot;
    if (trajectoryId !== undefined && this.#occupied.get(trajectoryId) === slot) {
      this.#occupied.delete(trajectoryId);
    }
  }

  #workOnKept<T>(trajectoryId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#keptWork.get(trajectoryId) ?? Promise.resolve();
    const working = before.then(work, work).finally(() => {
      if (this.#keptWork.get(trajectoryId) === working) this.#keptWork.delete(trajectoryId);
      this.#balance();
    });
    this.#keptWork.set(trajectoryId, working);
    this.#affinity.forget(trajectoryId);
    this.#track(working);
    return working;
  }

  #track(work: Promise<unknown>): void {
    const settled = work.then(
      () => {},
      () => {},
    );
    this.#underWay.add(settled);
    void settled.then(() => this.#underWay.delete(settled));
  }

  #startFailed(fleet: ContainerFleet<C>, error: Error): void {
    if (fleet.ready.length > 0 || fleet.starting > 0) return;
    this.#queue.failAll(
      new SandboxError('slot_unavailable', `No container could be started: ${error.message}`, {
        cause: error,
      }),
    );
  }

  #acquireTimeout(trajectoryId: string | undefined): SandboxError {
    const occupant = trajectoryId === undefined ? undefined : this.#occupied.get(trajectoryId);
    const message = describeShortage(this.#options, this.stats(), {
      startFailure: this.#fleet?.startFailure,
      occupiedContainerId: occupant?.containerId,
    });
    return new SandboxError('acquire_timeout', message);
  }
}
