/**
 * Restores the files of a run that were lost with its slot, from its last checkpoint, while the run continues.
 *
 * The calls that were running in the slot all report its loss, at different times; the files are restored once, and the next
 * calls of the run wait for that.
 */
import type { RecoveredWorkspace } from '../agent/tools/recovered-workspace.ts';
import type { CheckpointMaker } from './checkpoint-maker.ts';

export interface LostSlotsOptions {
  /** Releases the slot of the run, if it can be released. */
  release(): Promise<void>;
  /** Undefined if none are made. */
  checkpoints: Pick<CheckpointMaker, 'restoreLast'> | undefined;
}

export class LostSlots {
  readonly #options: LostSlotsOptions;
  readonly #recoveries = new Map<string, Promise<RecoveredWorkspace>>();

  constructor(options: LostSlotsOptions) {
    this.#options = options;
  }

  /** Resolves when no files are being restored. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#recoveries.values());
  }

  recover(slotId: string, signal: AbortSignal): Promise<RecoveredWorkspace> {
    const known = this.#recoveries.get(slotId);
    if (known !== undefined) return known;
    const recovery = this.restore(signal);
    this.#recoveries.set(slotId, recovery);
    return recovery;
  }

  /** For a loss that no call has reported. */
  async restore(signal?: AbortSignal): Promise<RecoveredWorkspace> {
    const { release, checkpoints } = this.#options;
    await release();
    const restored = await checkpoints?.restoreLast(signal);
    return restored === undefined ? { kind: 'reverted' } : { kind: 'restored', lost: 'sandbox', ...restored };
  }
}
