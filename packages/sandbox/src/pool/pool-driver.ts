/**
 * The seam between `SlotPool`, which decides how many containers there are and who gets which slot, and whatever
 * runs containers for it (containers/container-slots.ts, over any driver; a fake in the pool's own tests).
 *
 * - A driver counts nothing and chooses nothing. The pool says which containers it starts, checks and ends.
 * - `startContainer` resolves when the container takes commands. When it rejects, nothing of the attempt is left, and
 *   the message holds what the container printed.
 * - Every call settles in bounded time, even if the container or its runtime hangs.
 * - A container that does not answer is dead. `checkContainer` rejects in bounded time, and the pool never uses that
 *   container again, even if it comes back.
 * - `stopContainer` resolves when the container is gone, however dead it already was, and may be called twice. It
 *   saves the workspaces of the slots that were open, so that their trajectories find them elsewhere. It may come while
 *   `openSlot` or `closeSlot` of a dead container are still under way. When it rejects it is called again later.
 */
export interface Container {
  readonly containerId: string;
}

export interface SlotRequest {
  readonly slotId: string;
  /** Undefined for a slot whose workspace nobody needs afterwards. */
  readonly trajectoryId: string | undefined;
}

export interface PoolDriver<C extends Container> {
  startContainer(signal: AbortSignal): Promise<C>;
  stopContainer(container: C): Promise<void>;
  checkContainer(container: C, signal: AbortSignal): Promise<void>;
  /** Puts the trajectory's workspace, new or kept, into a free slot of the container. */
  openSlot(container: C, request: SlotRequest): Promise<{ workspaceDir: string }>;
  /**
   * Ends what runs in the slot and takes its workspace out: kept for the trajectory's next slot, or deleted. For a slot
   * that `openSlot` failed to open, it removes what exists of it.
   */
  closeSlot(container: C, request: SlotRequest, options: { resetWorkspace: boolean }): Promise<void>;
  /** Deletes the kept workspace of a trajectory that is in no slot; does nothing if there is none. */
  discardWorkspace(trajectoryId: string): Promise<void>;
}
