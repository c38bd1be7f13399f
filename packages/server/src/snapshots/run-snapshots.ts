/**
 * The snapshots of one run's workspace, for the time of one claim.
 *
 * - A snapshot is taken while no call of the run is in progress, and stored under the position of the last record by
 *   then: the files contain the effects of every call whose outcome is recorded up to there, and of no later one. Only
 *   background processes can change them meanwhile, and those end with their machine anyway.
 * - If nothing has changed since the last one, only its position moves.
 * - If a snapshot is not stored, because it is too large or fails, the one before stays. It is then older than the
 *   files, and its position says so when it is restored.
 * - Only the loss of the lease, or of the store, affects the run.
 */
import type { ToolBackend } from '@talaria/sandbox';
import { SandboxError } from '@talaria/sandbox';
import type { Log } from '../basics/log.ts';
import { type Lease, LeaseLostError } from '../journal/journal.ts';
import { isStoreError } from '../journal/store-error.ts';
import type { WorkspaceSnapshots } from '../journal/workspace-snapshots.ts';
import type { Report, SnapshotOutcome } from '../telemetry/facts.ts';

/** Checking this many entries takes about as long as a run may be delayed. */
const MAX_ENTRIES = 50_000;

const TOO_LARGE =
  'the workspace of the run is too large for a snapshot; another machine would continue with older files, or none';

interface Kept {
  outcome: 'stored' | 'unchanged';
  bytes: number;
}

export interface RunSnapshotsOptions {
  backend: Pick<ToolBackend, 'captureWorkspace' | 'snapshotWorkspace' | 'restoreWorkspace'>;
  snapshots: WorkspaceSnapshots;
  /** The size of all files together; a larger workspace is not stored. */
  maxBytes: number;
  log: Log;
  report: Report;
}

export interface RestoredSnapshot {
  pos: number;
  /** What was in the workspace and could not be stored. */
  omitted: number;
}

export class RunSnapshots {
  readonly #lease: Lease;
  readonly #options: RunSnapshotsOptions;
  /** The last stored one, and the state of the workspace then. */
  #last: { snapshotId: string; captureId: string } | undefined;
  #saidTooLarge = false;

  constructor({ runId, epoch }: Lease, options: RunSnapshotsOptions) {
    this.#lease = { runId, epoch };
    this.#options = options;
  }

  /**
   * Stores the workspace in its present state, unless it is unchanged. Rejects when the lease is lost or the signal
   * aborts.
   */
  async keep(pos: number, signal?: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const startedAt = performance.now();
    try {
      const kept = await this.#keep(pos, signal);
      if (kept !== undefined) this.#report(kept.outcome, startedAt, kept.bytes);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof LeaseLostError) throw error;
      const tooLarge = error instanceof SandboxError && error.code === 'artifact_too_large';
      this.#report(tooLarge ? 'too_large' : 'failed', startedAt);
      if (!tooLarge) log.warn({ ...this.#of, err: error }, 'the workspace of the run could not be kept');
      else if (!this.#saidTooLarge) log.warn({ ...this.#of, err: error }, TOO_LARGE);
      this.#saidTooLarge ||= tooLarge;
    }
  }

  /** Restores the workspace from the snapshot; undefined if there is none, or none that is complete. */
  async restore(signal?: AbortSignal): Promise<RestoredSnapshot | undefined> {
    const { backend, snapshots, log } = this.#options;
    const { runId } = this.#lease;
    const stored = await snapshots.find(runId);
    if (stored === undefined) return undefined;
    const startedAt = performance.now();
    try {
      const bytes = snapshots.read(runId, stored);
      const { entries, omitted } = await backend.restoreWorkspace(runId, bytes, { signal });
      log.info({ runId, entries, bytes: stored.bytes }, 'the workspace of the run was restored');
      this.#report('restored', startedAt, stored.bytes);
      return { pos: stored.pos, omitted };
    } catch (error) {
      signal?.throwIfAborted();
      // It could not be read now; the next attempt may succeed.
      if (isStoreError(error)) throw error;
      log.error({ runId, err: error }, 'the workspace of the run could not be restored');
      this.#report('unusable', startedAt);
      return undefined;
    }
  }

  /** The run has ended. A snapshot that is not removed now is removed with the run. */
  async drop(): Promise<void> {
    const { snapshots, log } = this.#options;
    await snapshots.remove(this.#lease.runId).catch((error: unknown) => {
      log.warn({ ...this.#of, err: error }, 'the snapshot of the run could not be removed');
    });
  }

  /** Undefined if there is nothing to store. */
  async #keep(pos: number, signal: AbortSignal | undefined): Promise<Kept | undefined> {
    const { backend, snapshots, maxBytes } = this.#options;
    const { runId } = this.#lease;
    const limits = { maxEntries: MAX_ENTRIES };
    const capture = await backend.captureWorkspace(runId, { since: this.#last?.captureId, limits, signal });
    if (capture === undefined) return undefined;
    const { captureId, bytes: content, isWhole, changed, removed, omitted } = capture;
    if (this.#last !== undefined && !isWhole && changed.length === 0 && removed.length === 0) {
      const confirmed = await snapshots.confirm(this.#lease, this.#last.snapshotId, pos);
      if (confirmed) return { outcome: 'unchanged', bytes: 0 };
    }
    if (content > maxBytes || omitted.some(({ reason }) => reason === 'too_many')) {
      const most = `${maxBytes} bytes in ${MAX_ENTRIES} entries`;
      throw new SandboxError('artifact_too_large', `The workspace has more than ${most}.`);
    }
    const snapshot = await backend.snapshotWorkspace(runId, { maxBytes, signal });
    if (snapshot === undefined) return undefined;
    const { snapshotId, bytes } = await snapshots.store(this.#lease, pos, snapshot);
    this.#last = { snapshotId, captureId };
    return { outcome: 'stored', bytes };
  }

  #report(outcome: SnapshotOutcome, startedAt: number, bytes = 0): void {
    const durationMs = performance.now() - startedAt;
    this.#options.report({ fact: 'workspace.snapshot', outcome, durationMs, bytes });
  }

  get #of(): { runId: string } {
    return { runId: this.#lease.runId };
  }
}
