/**
 * The limits of one slot while it is held: its control group (keeper/seats.ts), and the disk space of its workspace. All its
 * commands share them.
 */
import type { CreatedWorkspace } from '../../workspace/workspaces.ts';
import type { BackendLimits } from './backend-limits.ts';
import { growthOf } from './growth.ts';
import { noRoom } from './limit-hits.ts';
import { LimitedCommand } from './limited-command.ts';
import type { SlotGroup } from './slot-group.ts';
import { WorkspaceSpace } from './workspace-space.ts';

export class SlotLimits {
  readonly #limits: BackendLimits;
  readonly #space: WorkspaceSpace | undefined;
  readonly #running = new Set<LimitedCommand>();

  /** `writableDirs` is everywhere that its commands can write, if that is more than the workspace and its /tmp. */
  constructor(
    limits: BackendLimits,
    { dir, tmpDir, isNew, isMounted }: CreatedWorkspace,
    writableDirs: readonly string[] = [dir, tmpDir],
  ) {
    this.#limits = limits;
    const space = limits.space && (isMounted ? growthOf(dir, limits.space) : limits.space);
    this.#space = space && new WorkspaceSpace(writableDirs, isNew, space);
  }

  /** Before a command is launched, in this group. The caller must call its `done`. */
  async begin(group: SlotGroup | undefined, signal: AbortSignal): Promise<LimitedCommand> {
    const usedIfOver = await this.#space?.usedIfOver();
    const oomKills = group?.oomKills ?? this.#limits.ownOomKills;
    const means = { limits: this.#limits, group, oomKills, space: this.#space };
    return new LimitedCommand(means, this.#running, usedIfOver, signal);
  }

  /** Rejects if the workspace has no room for this many more bytes. */
  async admit(moreBytes: number): Promise<void> {
    const usedBytes = await this.#space?.usedIfOver(moreBytes);
    if (this.#space && usedBytes !== undefined) throw noRoom(moreBytes, usedBytes, this.#space.limitBytes);
  }
}
