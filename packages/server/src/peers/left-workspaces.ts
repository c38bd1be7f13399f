/**
 * Deletes workspaces whose runs another server has deleted. They are recorded; each server deletes its own.
 *
 * At the start the disk is compared with the records: a workspace of a kept run gets a record, as after a move of the
 * runs to this store. A workspace without a run and without a record is left alone: it may belong to a store that the
 * data directory was used with before.
 */
import { isRunId } from '@talaria/protocol';
import type { TrajectoryWorkspaces } from '@talaria/sandbox';
import { clearInBatches } from '../basics/clear-in-batches.ts';
import type { Log } from '../basics/log.ts';
import { SweepTimer } from '../basics/sweep-timer.ts';
import type { WorkspacePlaces } from '../journal/peers.ts';

const ADOPT_BATCH = 1_000;

export interface LeftWorkspacesOptions {
  /** Those of this server. */
  workspaces: Pick<TrajectoryWorkspaces, 'discard' | 'list'>;
  serverId: string;
  places: WorkspacePlaces;
  /** How long runs are kept: their workspaces may be deleted about that late. */
  retentionMs: number;
  log: Log;
}

export class LeftWorkspaces {
  readonly #options: LeftWorkspacesOptions;
  readonly #timer = new SweepTimer((signal) => this.#sweep(signal));

  constructor(options: LeftWorkspacesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { retentionMs, log } = this.#options;
    await this.#adopt().catch((error: unknown) => {
      log.warn({ err: error }, 'the workspaces here could not be recorded; other servers may not find them');
    });
    this.#timer.start(retentionMs);
  }

  stop(): Promise<void> {
    return this.#timer.stop();
  }

  async #adopt(): Promise<void> {
    const { workspaces, serverId, places, log } = this.#options;
    const found = (await workspaces.list()).filter(isRunId);
    let strangers = 0;
    for (let i = 0; i < found.length; i += ADOPT_BATCH) {
      strangers += (await places.adopt(serverId, found.slice(i, i + ADOPT_BATCH))).length;
    }
    if (strangers > 0) {
      log.info({ workspaces: strangers }, 'workspaces of runs that the store does not know are left alone');
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { serverId, places, log } = this.#options;
    const clearing = {
      find: (limit: number) => places.evicted(serverId, limit),
      clear: (runId: string) => this.#discard(runId),
      forget: (runIds: readonly string[]) => places.removed(serverId, runIds),
    };
    await clearInBatches(clearing, signal).catch((error: unknown) => {
      log.error({ err: error }, 'deleting workspaces of evicted runs failed; it will be retried');
    });
  }

  async #discard(runId: string): Promise<boolean> {
    const { workspaces, log } = this.#options;
    try {
      await workspaces.discard(runId);
      return true;
    } catch (error) {
      log.warn(
        { runId, err: error },
        'the workspace of an evicted run could not be deleted; it will be retried',
      );
      return false;
    }
  }
}
