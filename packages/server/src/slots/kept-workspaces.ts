/**
 * The files of trajectories whose slots were released: kept for a while for the next acquire, then deleted.
 *
 * The names of the workspaces show what they belong to, so a restarted server recognises those that its predecessor
 * left: it deletes the ones of slots without a trajectory at once, and keeps those of trajectories for the usual time
 * from its start on. This class ignores workspaces of runs.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { TrajectoryWorkspaces } from '@talaria/sandbox';
import type { Log } from '../basics/log.ts';
import { SweepTimer } from '../basics/sweep-timer.ts';

const TRAJECTORY = /^traj_[0-9a-f]{64}$/;
const NAMELESS = /^slotfiles_[0-9a-f]{32}$/;

/**
 * The name of a trajectory's workspace. The key is part of it: two keys may use the same id, and an id that looks like
 * that of a run must not lead to the files of the run.
 */
export function trajectoryWorkspace(owner: string, trajectoryId: string): string {
  const hash = createHash('sha256').update(JSON.stringify([owner, trajectoryId]));
  return `traj_${hash.digest('hex')}`;
}

/** The name of the workspace of a slot without a trajectory. */
export function namelessWorkspace(): string {
  return `slotfiles_${randomBytes(16).toString('hex')}`;
}

export interface KeptWorkspacesOptions {
  workspaces: Pick<TrajectoryWorkspaces, 'discard' | 'list'>;
  keepMs: number;
  log: Log;
}

export class KeptWorkspaces {
  readonly #options: KeptWorkspacesOptions;
  /** When each workspace is deleted, by name. */
  readonly #dueAt = new Map<string, number>();
  readonly #timer = new SweepTimer((signal) => this.#sweep(signal));

  constructor(options: KeptWorkspacesOptions) {
    this.#options = options;
  }

  /** Takes over what an earlier server left. The backend is started. */
  async start(): Promise<void> {
    const { workspaces, keepMs, log } = this.#options;
    try {
      for (const name of await workspaces.list()) {
        if (NAMELESS.test(name)) this.#dueAt.set(name, 0);
        else if (TRAJECTORY.test(name)) this.keep(name);
      }
    } catch (error) {
      log.warn({ err: error }, 'the files of slots of an earlier server could not be looked for');
    }
    this.#timer.start(keepMs);
  }

  stop(): Promise<void> {
    return this.#timer.stop();
  }

  /** Called when the slot of the workspace was released. */
  keep(name: string): void {
    this.#dueAt.set(name, Date.now() + this.#options.keepMs);
  }

  /** Called when the workspace is in use again, or deleted. */
  forget(name: string): void {
    this.#dueAt.delete(name);
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { workspaces, log } = this.#options;
    for (const [name, dueAt] of this.#dueAt) {
      if (signal.aborted) return;
      // Somebody may have acquired it while the one before was deleted.
      if (dueAt > Date.now() || !this.#dueAt.has(name)) continue;
      try {
        await workspaces.discard(name);
        if (this.#dueAt.get(name) === dueAt) this.#dueAt.delete(name);
      } catch (error) {
        log.warn(
          { workspace: name, err: error },
          'the files of a slot could not be deleted; this is retried',
        );
      }
    }
  }
}
