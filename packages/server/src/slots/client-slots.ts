/**
 * The slots that clients hold: the sandbox without the agent.
 *
 *   none ─acquire→ held ─release, or not used for `idleMs`→ releasing → none
 *   held ─its container died→ lost: its calls fail as `gone`; acquiring its trajectory again gives a new slot
 *
 * - A slot belongs to the key that acquired it. For any other key it does not exist.
 * - Acquiring a trajectory that its key holds gives the same slot. Acquires of one trajectory happen one after the
 *   other; that an acquire waits for a release of the same files is the backend's part.
 * - An acquire ends within `waitMs`, or when its client leaves. A caller that got no slot holds none.
 * - A slot in use is never idle: a batch counts from its beginning to its end.
 * - Held slots are forgotten with the process. The files of trajectories stay for a while (kept-workspaces.ts).
 */
import {
  createId,
  type SlotReleased,
  type SlotResult,
  type Slot as SlotView,
  TalariaError,
} from '@talaria/protocol';
import type { Slot, ToolBackend } from '@talaria/sandbox';
import { atMost } from '../basics/at-most.ts';
import type { Log } from '../basics/log.ts';
import { QueuePace } from '../basics/queue-pace.ts';
import { goneResult, toWireResult } from './execution-results.ts';
import { KeptWorkspaces, namelessWorkspace, trajectoryWorkspace } from './kept-workspaces.ts';
import { draining, type GiveBack, SlotPlaces } from './slot-places.ts';

/** Each is an open request. More than this is a client in a loop, not one that trains something. */
const WAITING_MAX = 1_000;

export interface ClientSlotsOptions {
  backend: ToolBackend;
  maxSlots: number;
  maxSlotsPerOwner: number;
  /** How long an acquire waits. */
  waitMs: number;
  /** How long a slot is held without being used. */
  idleMs: number;
  /** How long the files of a released trajectory stay. */
  keepFilesMs: number;
  log: Log;
}

export interface SlotCall {
  slotId: string;
  tool: string;
  args: Readonly<Record<string, unknown>>;
}

export interface ExecuteOptions {
  timeoutS: number | undefined;
  /** Aborting it ends the calls that still run. */
  signal: AbortSignal;
  /** Gets each result as soon as it arrives. */
  onResult?: ((result: SlotResult, index: number) => void) | undefined;
}

interface Held {
  readonly id: string;
  readonly owner: string;
  readonly trajectoryId: string | undefined;
  /** The backend's name for its files. */
  readonly workspace: string;
  readonly slot: Slot;
  readonly giveBack: GiveBack;
  uses: number;
  lost: boolean;
  idle: NodeJS.Timeout | undefined;
}

/** A slot that is not released as idle until it is disposed. */
export interface SlotInUse extends Disposable {
  slot: Slot;
  /** The backend's name for its files. */
  workspace: string;
}

export class ClientSlots {
  readonly #options: ClientSlotsOptions;
  readonly #pace = new QueuePace(Date.now);
  readonly #places: SlotPlaces;
  readonly #kept: KeptWorkspaces;
  readonly #held = new Map<string, Held>();
  /** The acquire in progress of each workspace. */
  readonly #turns = new Map<string, Promise<void>>();
  readonly #batches = new Set<Promise<unknown>>();
  readonly #draining = new AbortController();

  constructor(options: ClientSlotsOptions) {
    this.#options = options;
    const { maxSlots: max, maxSlotsPerOwner: maxPerOwner, backend, keepFilesMs: keepMs, log } = options;
    this.#places = new SlotPlaces({ max, maxPerOwner, maxWaiting: WAITING_MAX, pace: this.#pace });
    this.#kept = new KeptWorkspaces({ workspaces: backend.workspaces, keepMs, log });
  }

  /** The backend is started. */
  start(): Promise<void> {
    return this.#kept.start();
  }

  async acquire(owner: string, trajectoryId: string | undefined, leaving: AbortSignal): Promise<SlotView> {
    const workspace =
      trajectoryId === undefined ? namelessWorkspace() : trajectoryWorkspace(owner, trajectoryId);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(this.#places.refusal()), this.#options.waitMs);
    const signal = AbortSignal.any([leaving, late.signal, this.#draining.signal]);
    try {
      const held = await this.#inTurn(workspace, signal, async () => {
        const found = this.#ofWorkspace(workspace);
        if (found !== undefined && isLost(found)) await this.#end(found, { resetWorkspace: false });
        else if (found !== undefined) return found;
        return this.#take({ owner, trajectoryId, workspace }, signal);
      });
      this.#touch(held);
      return view(held);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Throws `slot_not_found` if the key holds none of the named slots. */
  expectKnown(owner: string, calls: readonly Pick<SlotCall, 'slotId'>[]): void {
    if (!calls.some(({ slotId }) => this.#find(owner, slotId) !== undefined)) throw notFound();
  }

  /**
   * The results, in the order of the calls. A call in a slot that the key does not hold is answered as `gone`, and does
   * not affect the others; a batch without any known slot is refused with `slot_not_found`.
   */
  async execute(owner: string, calls: readonly SlotCall[], options: ExecuteOptions): Promise<SlotResult[]> {
    this.expectKnown(owner, calls);
    const known = calls.map(({ slotId }) => this.#find(owner, slotId));
    const results: SlotResult[] = new Array(calls.length);
    const settle = (index: number, result: SlotResult): void => {
      results[index] = result;
      options.onResult?.(result, index);
    };
    /** The indices in `calls` of those that are sent. */
    const sent = calls.flatMap((_, index) => (known[index] === undefined ? [] : [index]));
    const inUse = new Set(sent.map((index) => known[index]!));
    for (const held of inUse) this.#begin(held);
    calls.forEach(({ slotId }, index) => {
      if (known[index] === undefined) settle(index, goneResult(slotId));
    });
    const batch = this.#options.backend.executeBatch(
      sent.map((index) => [known[index]!.slot, calls[index]!.tool, calls[index]!.args]),
      {
        timeoutS: options.timeoutS,
        signal: options.signal,
        onResult: (result, at) => {
          const held = known[sent[at]!]!;
          const { failure, files_after_loss: filesAfterLoss } = result.metadata;
          if (failure === 'gone' || filesAfterLoss !== undefined) held.lost = true;
          settle(sent[at]!, toWireResult(result, held.id));
        },
      },
    );
    this.#batches.add(batch);
    try {
      await batch;
      return results;
    } finally {
      this.#batches.delete(batch);
      for (const held of inUse) this.#done(held);
    }
  }

  /**
   * Ends what runs in it. The files of a trajectory stay for its next acquire unless they are reset. If the slot was lost, the
   * answer says which files those are.
   */
  async release(
    owner: string,
    slotId: string,
    options: { resetWorkspace: boolean },
  ): Promise<Pick<SlotReleased, 'files_after_loss'>> {
    return this.#end(this.#existing(owner, slotId), options);
  }

  /** Keeps the slot in use while somebody reads its files; throws `slot_not_found`. */
  use(owner: string, slotId: string): SlotInUse {
    const held = this.#existing(owner, slotId);
    this.#begin(held);
    let over = false;
    return {
      slot: held.slot,
      workspace: held.workspace,
      [Symbol.dispose]: () => {
        if (!over) this.#done(held);
        over = true;
      },
    };
  }

  list(owner: string): SlotView[] {
    return [...this.#held.values()].filter((held) => held.owner === owner).map(view);
  }

  stats(owner: string) {
    const { maxSlots, maxSlotsPerOwner, waitMs, idleMs, backend } = this.#options;
    return {
      backend: backend.stats().backend,
      held: this.#places.held(owner),
      waiting: this.#places.waiting(owner),
      available: this.#places.free(owner),
      max_slots: maxSlots,
      max_slots_per_key: maxSlotsPerOwner,
      default_timeout_s: backend.defaultTimeoutS,
      wait_seconds: waitMs / 1000,
      idle_seconds: idleMs / 1000,
    };
  }

  get defaultTimeoutS(): number {
    return this.#options.backend.defaultTimeoutS;
  }

  /** Refuses waiting callers, and those whom the backend has not served yet; gives batches in progress this long, and releases every slot. */
  async drain(ms: number): Promise<void> {
    this.#places.close();
    // Callers who have a place may wait for a container for a long time.
    this.#draining.abort(draining());
    await atMost(ms, Promise.allSettled(this.#batches));
    await Promise.allSettled(this.#turns.values());
    const ends = [...this.#held.values()].map((held) => this.#end(held, { resetWorkspace: false }));
    for (const end of await Promise.allSettled(ends)) {
      if (end.status === 'rejected') {
        this.#options.log.warn({ err: end.reason }, 'a slot could not be given back');
      }
    }
    await this.#kept.stop();
  }

  /** One acquire of a workspace at a time; a caller that waits for its turn leaves when the signal aborts. */
  async #inTurn<T>(workspace: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let before = this.#turns.get(workspace); before; before = this.#turns.get(workspace)) {
      await unlessAborted(before, signal);
    }
    signal.throwIfAborted();
    const working = work();
    const over = (): void => {
      this.#turns.delete(workspace);
    };
    this.#turns.set(workspace, working.then(over, over));
    return working;
  }

  async #take(
    { owner, trajectoryId, workspace }: Pick<Held, 'owner' | 'trajectoryId' | 'workspace'>,
    signal: AbortSignal,
  ): Promise<Held> {
    const { backend } = this.#options;
    const giveBack = await this.#places.take(owner, signal);
    try {
      this.#kept.forget(workspace);
      const slot = await backend.acquire(workspace, { signal });
      const held: Held = {
        id: createId('slot'),
        owner,
        trajectoryId,
        workspace,
        slot,
        giveBack,
        uses: 0,
        lost: false,
        idle: undefined,
      };
      // The caller may have left while the backend was busy.
      if (signal.aborted) {
        await this.#giveToBackend(held, { resetWorkspace: false });
        signal.throwIfAborted();
      }
      this.#held.set(held.id, held);
      return held;
    } catch (error) {
      if (trajectoryId !== undefined) this.#kept.keep(workspace);
      giveBack();
      throw error;
    }
  }

  /** Releases the slot. From now on nobody finds it. */
  async #end(
    held: Held,
    options: { resetWorkspace: boolean },
  ): Promise<Pick<SlotReleased, 'files_after_loss'>> {
    this.#held.delete(held.id);
    clearTimeout(held.idle);
    try {
      await this.#giveToBackend(held, options);
      if (!isLost(held) || isReset(held, options)) return {};
      // Asked before the place is free: once another caller has acquired these files, they no longer count as reverted.
      const isReverted = await this.#options.backend.workspaces.isReverted(held.workspace);
      return { files_after_loss: isReverted ? 'reverted' : 'kept' };
    } finally {
      held.giveBack();
    }
  }

  async #giveToBackend(held: Held, options: { resetWorkspace: boolean }): Promise<void> {
    const resetWorkspace = isReset(held, options);
    if (!resetWorkspace) this.#kept.keep(held.workspace);
    try {
      await this.#options.backend.release(held.slot, { resetWorkspace });
    } catch (error) {
      // A workspace that could not be deleted now is deleted later.
      this.#kept.keep(held.workspace);
      throw error;
    }
  }

  #ofWorkspace(workspace: string): Held | undefined {
    for (const held of this.#held.values()) if (held.workspace === workspace) return held;
    return undefined;
  }

  #find(owner: string, slotId: string): Held | undefined {
    const held = this.#held.get(slotId);
    return held?.owner === owner ? held : undefined;
  }

  #existing(owner: string, slotId: string): Held {
    const held = this.#find(owner, slotId);
    if (held === undefined) throw notFound();
    return held;
  }

  #begin(held: Held): void {
    held.uses += 1;
    clearTimeout(held.idle);
  }

  #done(held: Held): void {
    held.uses -= 1;
    this.#touch(held);
  }

  #touch(held: Held): void {
    clearTimeout(held.idle);
    if (held.uses > 0 || !this.#held.has(held.id)) return;
    held.idle = setTimeout(() => {
      const { log } = this.#options;
      log.info({ slotId: held.id, owner: held.owner }, 'a slot that was not used is released');
      this.#end(held, { resetWorkspace: false }).catch((error: unknown) => {
        log.warn({ slotId: held.id, err: error }, 'a slot that was not used could not be given back');
      });
    }, this.#options.idleMs);
  }
}

function view({ id, trajectoryId, slot, lost }: Held): SlotView {
  return {
    id,
    trajectory_id: trajectoryId ?? null,
    container_id: slot.containerId,
    workspace_dir: slot.workspaceDir,
    state: lost ? 'error' : slot.state,
  };
}

/** Nobody finds the files of a slot without a trajectory again. */
function isReset({ trajectoryId }: Held, { resetWorkspace }: { resetWorkspace: boolean }): boolean {
  return resetWorkspace || trajectoryId === undefined;
}

/** Its container may have died since its last call, or before its first one. */
function isLost({ lost, slot }: Held): boolean {
  return lost || slot.state === 'error';
}

function notFound(): TalariaError {
  return new TalariaError('slot_not_found', { param: 'slot_id' });
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
