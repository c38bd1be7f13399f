import { randomUUID } from 'node:crypto';
import type { Slot, SlotState } from '../backend.ts';
import type { Workspace } from '../workspace/workspaces.ts';
import { BackgroundProcesses } from './background/background-processes.ts';
import type { SharedNetwork } from './background/shared-network.ts';
import type { SlotSeat } from './keeper/slot-seat.ts';
import type { SlotLimits } from './limits/slot-limits.ts';
import { SlotTerminal } from './terminal/slot-terminal.ts';

export type SlotParts = Pick<
  LocalSlot,
  'workspace' | 'workspaceDir' | 'trajectoryId' | 'limits' | 'network' | 'seat'
>;

/**
 * A workspace that a caller holds. Its id is new with every acquire, so a caller that kept a released slot cannot act in the
 * workspace of the next owner.
 */
export class LocalSlot implements Slot {
  readonly slotId = `slot_${randomUUID()}`;
  readonly containerId = 'local';
  readonly workspaceDir: string;
  readonly trajectoryId: string | undefined;
  readonly workspace: Workspace;
  readonly limits: SlotLimits;
  readonly network: SharedNetwork;
  /** The control groups and the keeper of its commands. */
  readonly seat: SlotSeat;
  /** One per execution in progress; aborting it ends the execution. */
  readonly executions = new Map<AbortController, Promise<unknown>>();
  readonly processes = new BackgroundProcesses();
  readonly terminal = new SlotTerminal();
  /**
   * Unless it has failed, `executing` follows from the executions: a call is in progress. Background processes do not
   * count, because the slot is free for the next call.
   */
  #phase: 'acquired' | 'releasing' | 'available' | 'error' = 'acquired';

  constructor({ workspace, workspaceDir, trajectoryId, limits, network, seat }: SlotParts) {
    this.workspace = workspace;
    this.workspaceDir = workspaceDir;
    this.trajectoryId = trajectoryId;
    this.limits = limits;
    this.network = network;
    this.seat = seat;
  }

  get state(): SlotState {
    return this.#phase === 'acquired' && this.executions.size > 0 ? 'executing' : this.#phase;
  }

  set phase(phase: 'releasing' | 'available' | 'error') {
    this.#phase = phase;
  }

  /**
   * Ends what runs in the slot and waits until it has ended. A call that is starting a process ends before its
   * processes are searched.
   */
  async end(): Promise<void> {
    for (const controller of this.executions.keys()) controller.abort();
    await Promise.allSettled(this.executions.values());
    await Promise.all([this.processes.endAll(), this.terminal.close()]);
    await this.network.close();
    await this.seat.close();
  }
}
