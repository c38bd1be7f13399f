/**
 * Restores the files of a run that were lost with its slot, from its last checkpoint, while the run continues.
 *
 * The calls that were running in the slot all report its loss, at different times; the files are restored once, and the next
 * calls of the run wait for that.
 */
import type { ToolExecutor } from '@talaria/sandbox';
import type { RecoveredWorkspace } from '../agent/workspace-news.ts';
import type { CheckpointMaker } from './checkpoint-maker.ts';

export interface LostSlotsOptions {
  executor: Pick<ToolExecutor, 'release'>;
  /** Undefined if none are made. */
  checkpoints: Pick<CheckpointMaker, 'restoreLast'> | undefined;
}

export class LostSlots {
  readonly #runId: string;
  readonly #options: LostSlotsOptions;
  readonly #recoveries = new Map<string, Promise<RecoveredWorkspace>>();

  constructor(runId: string, options: LostSlotsOptions) {
    this.#runId = runId;
    this.#options = options;
  }

  /** Resolves when no files are being restored. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#recoveries.values());
  }

  recover(slotId: string, signal: AbortSignal): Promise<RecoveredWorkspace> {
    const known = this.#recoveries.get(slotId);
    if (known !== undefined) return known;
    const recovery = this.#restore(signal);
    this.#recoveries.set(slotId, recovery);
    return recovery;
  }

  async #restore(signal: AbortSignal): Promise<RecoveredWorkspace> {
    const { executor, checkpoints } = this.#options;
    await executor.release(this.#runId);
    const restored = await checkpoints?.restoreLast(signal);
    return restored === undefined ? { kind: 'reverted' } : { kind: 'restored', lost: 'sandbox', ...restored };
  }
}
