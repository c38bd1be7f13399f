/**
 * How long ended runs are kept, and what they take on the disks of servers.
 *
 * Invariants
 * - A run is due some time after its end: its own retention, which is fixed at its creation (`NewRun.retentionMs`), or that of
 *   the server. An unfinished run is never due, and neither is a kept one, until somebody takes the keeping back.
 * - Only a due run is evicted, and what is due stays due: `keep` refuses it like a run that is gone. So nobody keeps a run whose
 *   files are being deleted.
 * - Too little room makes runs due before their time. That and its reason are in the store before anything is deleted, so a crash
 *   in between changes neither which runs go nor what their heads say.
 * - The server that has the files of a run measures them after the end, and again after each change by a client. Until then the
 *   run takes no room by this count.
 *
 * To keep a run says nothing about its course, so it is not part of its log, which ends with the run.
 */
import { TalariaError } from '@talaria/protocol';

const DAY_MS = 24 * 3600 * 1000;
/** A run gives its slot back after its end, and only then are all its files on the disk of its server. */
export const SETTLED_MS = 5_000;

export interface MeasuredRun {
  runId: string;
  /** What its files take on the disk of the server that measured them. */
  bytes: number;
}

export interface KeptRuns {
  /** Runs that are due, at most `limit`. */
  expired(retentionMs: number, limit: number): Promise<string[]>;
  /**
   * Keeps the run, or takes that back (`retainedUntil`); resolves also if nothing changes. Rejects with `run_not_found` if the
   * run is gone or due.
   */
  keep(runId: string, keep: boolean, retentionMs: number): Promise<void>;

  /** Runs with files on this server that ended `SETTLED_MS` ago and have to be measured, at most `limit`. */
  unmeasured(serverId: string, limit: number): Promise<string[]>;
  measured(serverId: string, runs: readonly MeasuredRun[]): Promise<void>;
  /** The files of the run have changed: what was measured no longer counts. */
  outdated(serverId: string, runId: string): Promise<void>;
  /**
   * What ended runs take on the disk of this server: their files and, where the store is on the same disk, their records and
   * checkpoints. Runs that are to go for room do not count.
   */
  used(serverId: string): Promise<number>;
  /**
   * Makes the runs that ended first due, for room, until they take at least `bytes` on this server, at most `limit` of them.
   * Returns how many; 0 means that only kept runs are left.
   */
  giveUp(serverId: string, bytes: number, limit: number): Promise<number>;
}

/** The columns of a run that say how long it is kept. */
export interface RetentionRow {
  finished_at: number | null;
  /** Its own; null means that of the server. */
  retention_ms: number | null;
  kept: boolean | number;
  /** When it is due; null means after the retention of the server. */
  expires_at: number | null;
}

/** Null for a run that is kept or unfinished. */
function expiryOf(run: Omit<RetentionRow, 'retention_ms'>, retentionMs: number): number | null {
  if (run.finished_at === null || run.kept) return null;
  return run.expires_at ?? run.finished_at + retentionMs;
}

export interface KeepRequest {
  runId: string;
  keep: boolean;
  retentionMs: number;
}

/** The new values of the columns; undefined if the run is as requested. Throws for a run that is gone or due. */
export function changeOfKeeping(
  run: RetentionRow | undefined,
  { runId, keep, retentionMs }: KeepRequest,
  now: number,
): Pick<RetentionRow, 'kept' | 'expires_at'> | undefined {
  const expiry = run && expiryOf(run, retentionMs);
  if (run === undefined || (expiry != null && expiry <= now)) {
    throw new TalariaError('run_not_found', { message: `Run not found: ${runId}` });
  }
  if (Boolean(run.kept) === keep) return undefined;
  return { kept: keep, expires_at: keep ? run.expires_at : retainedUntil(run, retentionMs, now) };
}

/**
 * For a run that is kept no longer: its retention counts from its end, as ever. But if that is over, or nearly, nobody wants it
 * to disappear at once: it has a day left, or as long as it would have been kept at all if that is less.
 */
function retainedUntil(run: RetentionRow, retentionMs: number, now: number): number | null {
  if (run.finished_at === null) return null;
  const ownMs = run.retention_ms ?? retentionMs;
  const usual = run.finished_at + ownMs;
  const graceEnd = now + Math.min(ownMs, DAY_MS);
  if (usual < graceEnd) return graceEnd;
  return run.retention_ms === null ? null : usual;
}
