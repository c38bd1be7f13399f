/** A container and the slots in it, as the pool knows them. */
import { randomUUID } from 'node:crypto';
import type { Slot, SlotState } from '../backend.ts';
import type { Caller } from './acquire-queue.ts';
import type { Container, SlotRequest } from './pool-driver.ts';

export class PoolContainer<C extends Container> {
  readonly handle: C;
  state: 'ready' | 'draining' | 'stopping' = 'ready';
  /** The slots in use. */
  readonly slots = new Set<PooledSlot<C>>();
  /** Failed slots: their workspaces are in the container until it is gone. */
  readonly failed = new Set<PooledSlot<C>>();
  /** The value that `StartBackoff.begin` returned for its start. */
  readonly begun: number;
  /** A slot was opened in it. */
  served = false;
  emptySinceMs: number;
  /** Settles when the container is gone; undefined until its end has begun. */
  ended: Promise<void> | undefined;
  cancelCheck: () => void = () => {};
  cancelIdle: () => void = () => {};

  constructor(handle: C, begun: number, nowMs: number) {
    this.handle = handle;
    this.begun = begun;
    this.emptySinceMs = nowMs;
  }

  get id(): string {
    return this.handle.containerId;
  }
}

/** Its id is new with every acquire, so a caller that kept a released slot cannot act in the workspace of the next owner. */
export class PooledSlot<C extends Container> implements Slot {
  readonly slotId = `slot_${randomUUID()}`;
  readonly trajectoryId: string | undefined;
  readonly container: PoolContainer<C>;
  /** Known when the slot is open; no caller gets the slot before. */
  workspaceDir = '';
  phase: 'opening' | 'acquired' | 'releasing' | 'available' | 'error' = 'opening';
  /** The callers who get the slot when it is open. */
  takers: Caller<PooledSlot<C>>[];
  /** Settles when the slot is open, or could not be opened. */
  opened: Promise<void> | undefined;
  /** Settles when the slot is released; undefined until that has begun. */
  closed: Promise<void> | undefined;
  readonly #gone = new AbortController();
  readonly #released = new AbortController();
  readonly #work = new Set<Promise<unknown>>();

  constructor(
    container: PoolContainer<C>,
    trajectoryId: string | undefined,
    takers: Caller<PooledSlot<C>>[],
  ) {
    this.container = container;
    this.trajectoryId = trajectoryId;
    this.takers = takers;
  }

  get containerId(): string {
    return this.container.id;
  }

  get state(): SlotState {
    if (this.phase === 'opening') return 'acquired';
    return this.phase === 'acquired' && this.#work.size > 0 ? 'executing' : this.phase;
  }

  get request(): SlotRequest {
    return { slotId: this.slotId, trajectoryId: this.trajectoryId };
  }

  /** Aborts when the container died with the slot in it; the reason says how. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Aborts when its holder releases the slot. */
  get released(): AbortSignal {
    return this.#released.signal;
  }

  /** Tells the work in it to end, and waits until it has. */
  async empty(): Promise<void> {
    this.#released.abort();
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }

  /** It could not be cleaned, or its container died. */
  fail(): void {
    this.phase = 'error';
    this.container.slots.delete(this);
    this.container.failed.add(this);
  }

  lose(reason: Error): void {
    this.fail();
    this.#gone.abort(reason);
  }

  async whileExecuting<T>(work: () => Promise<T>): Promise<T> {
    const settled = work();
    this.#work.add(settled);
    try {
      return await settled;
    } finally {
      this.#work.delete(settled);
    }
  }
}
