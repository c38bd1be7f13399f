/**
 * The snapshots of the workspace of one run, for the time of one claim.
 *
 * - One is taken when no call of the run is under way, and stored under the position of the last record by then: of every
 *   call that has its outcome on record up to there the files hold what it did, and of a later one nothing. Only processes
 *   in the background can change them meanwhile, and those end with their machine anyway.
 * - Where nothing has changed since the last one, only its position is moved on.
 * - What is not stored, because it is too large or fails, leaves the one before. It is older than the files then, and its
 *   position says so to whoever restores it.
 * - Nothing but the loss of the lease, or of the store, gets in the way of the run.
 */
import type { ToolBackend } from '@talaria/sandbox';
import { SandboxError } from '@talaria/sandbox';
import { type Lease, LeaseLostError } from '../journal/journal.ts';
import type { WorkspaceSnapshots } from '../journal/workspace-snapshots.ts';
import type { Log } from '../log.ts';
import { isStoreError } from '../store-error.ts';

/** A look at this many takes about as long as a run may be held up for. */
const MAX_ENTRIES = 50_000;

export interface RunSnapshotsOptions {
  backend: Pick<ToolBackend, 'surveyWorkspace' | 'snapshotWorkspace' | 'restoreWorkspace'>;
  snapshots: WorkspaceSnapshots;
  /** Of the content of all files; what is more is not kept. */
  maxBytes: number;
  log: Log;
}

export interface RestoredSnapshot {
  pos: number;
  /** What was in the workspace and could not be kept. */
  omitted: number;
}

export class RunSnapshots {
  readonly #lease: Lease;
  readonly #options: RunSnapshotsOptions;
  /** The one stored last, and what the workspace looked like then. */
  #last: { snapshotId: string; fingerprint: string | undefined } | undefined;
  #saidTooLarge = false;

  constructor({ runId, epoch }: Lease, options: RunSnapshotsOptions) {
    this.#lease = { runId, epoch };
    this.#options = options;
  }

  /** Stores the workspace as it is now, unless it is as it was. Rejects when the lease is lost or the signal aborted. */
  async keep(pos: number, signal?: AbortSignal): Promise<void> {
    try {
      await this.#keep(pos, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof LeaseLostError) throw error;
      if (error instanceof SandboxError && error.code === 'artifact_too_large') this.#tooLarge();
      else this.#options.log.warn({ ...this.#of, err: error }, 'the workspace of the run could not be kept');
    }
  }

  /** Makes the workspace from what is stored of it; undefined where nothing is, or nothing that is whole. */
  async restore(signal?: AbortSignal): Promise<RestoredSnapshot | undefined> {
    const { backend, snapshots, log } = this.#options;
    const { runId } = this.#lease;
    const stored = await snapshots.find(runId);
    if (stored === undefined) return undefined;
    try {
      const bytes = snapshots.read(runId, stored);
      const { entries, omitted } = await backend.restoreWorkspace(runId, bytes, { signal });
      log.info({ runId, entries, bytes: stored.bytes }, 'the workspace of the run was restored');
      return { pos: stored.pos, omitted };
    } catch (error) {
      signal?.throwIfAborted();
      // Not read now; it may be the next time.
      if (isStoreError(error)) throw error;
      log.error({ runId, err: error }, 'the workspace of the run could not be restored');
      return undefined;
    }
  }

  /** The run has ended. What is not removed now is removed with the run. */
  async drop(): Promise<void> {
    const { snapshots, log } = this.#options;
    await snapshots.remove(this.#lease.runId).catch((error: unknown) => {
      log.warn({ ...this.#of, err: error }, 'the snapshot of the run could not be removed');
    });
  }

  async #keep(pos: number, signal: AbortSignal | undefined): Promise<void> {
    const { backend, snapshots, maxBytes } = this.#options;
    const { runId } = this.#lease;
    const survey = await backend.surveyWorkspace(runId, { maxEntries: MAX_ENTRIES, signal });
    if (survey === undefined) return;
    const { fingerprint } = survey;
    if (this.#last !== undefined && fingerprint !== undefined && this.#last.fingerprint === fingerprint) {
      if (await snapshots.confirm(this.#lease, this.#last.snapshotId, pos)) return;
    }
    if (survey.entries > MAX_ENTRIES || survey.bytes > maxBytes) return this.#tooLarge();
    const snapshot = await backend.snapshotWorkspace(runId, { maxBytes, signal });
    if (snapshot === undefined) return;
    const { snapshotId } = await snapshots.store(this.#lease, pos, snapshot);
    this.#last = { snapshotId, fingerprint };
  }

  #tooLarge(): void {
    if (this.#saidTooLarge) return;
    this.#saidTooLarge = true;
    const { log, maxBytes } = this.#options;
    log.warn(
      { ...this.#of, maxBytes, maxEntries: MAX_ENTRIES },
      'the workspace of the run is too large to be kept; another machine would go on with older files, or none',
    );
  }

  get #of(): { runId: string } {
    return { runId: this.#lease.runId };
  }
}
