/**
 * What servers on one store know about each other, and where the workspaces of runs are. Only in a store that several
 * servers share; an embedded store has one server and needs none of this.
 *
 * - A workspace is on the server that created it. It is recorded before it is created (`place`), under the lease of the
 *   run. So of several servers that worked on a run, the one with the highest epoch has its files; the files of the
 *   others are older.
 * - Deleting a run marks its workspaces as evicted in the same transaction. Each server deletes its own, and then their
 *   rows. A directory that no row names is not deleted: it may belong to another store.
 * - Time is the store's clock.
 */
import type { Lease } from './journal.ts';

/**
 * A server that was not seen for this long has ended, or is cut off: several times the interval between two signs of
 * life.
 */
export const SILENT_MS = 20_000;

export interface NewServer {
  serverId: string;
  /** The URL at which the others reach it. */
  url: string;
  role: string;
  version: string;
  /** How many runs it works on at the same time. */
  maxRuns: number;
}

export interface KnownServer extends NewServer {
  startedAt: number;
  seenAt: number;
  /** When it ended in an orderly way; null for one that lives, or that crashed. */
  stoppedAt: number | null;
}

/** Whether it was stopped, or was not seen for so long that it may be dead. */
export function isSilent({ seenAt, stoppedAt }: KnownServer, now: number): boolean {
  return stoppedAt !== null || now - seenAt > SILENT_MS;
}

export interface Servers {
  /** Announces the server. Returns the time, which together with its id identifies this life of the server. */
  announce(server: NewServer): Promise<number>;
  /**
   * A sign of life, also to a store that has forgotten the server. False when another process has taken over its id.
   */
  renew(server: NewServer, startedAt: number): Promise<boolean>;
  /** The server ends. */
  leave(serverId: string, startedAt: number): Promise<void>;
  /** All known servers, the most recently seen first. */
  list(): Promise<{ now: number; servers: KnownServer[] }>;
  /**
   * Deletes servers that were not seen for this long and have no workspace of a kept run, with everything recorded
   * about them.
   */
  forget(unseenMs: number): Promise<void>;
}

export interface Place {
  serverId: string;
  /** Undefined for a server that was forgotten. */
  server: KnownServer | undefined;
}

export interface WorkspacePlaces {
  /** Records that the workspace of the run is on this server. Rejects with `LeaseLostError` when the lease is lost. */
  place(lease: Lease, serverId: string): Promise<void>;
  /** Where the run's files are; undefined before a workspace was recorded. */
  locate(runId: string): Promise<Place | undefined>;
  /**
   * Records workspaces that a server found on its disk, unless they have a record. Returns those without a run and
   * without a record.
   */
  adopt(serverId: string, runIds: readonly string[]): Promise<string[]>;
  /** Workspaces on this server whose runs are gone. */
  evicted(serverId: string, limit: number): Promise<string[]>;
  /** Reports that they are deleted. */
  removed(serverId: string, runIds: readonly string[]): Promise<void>;
}

export interface Peers {
  /** Random bytes that all servers of the store share, to authenticate each other. */
  readonly secret: Uint8Array;
  readonly servers: Servers;
  readonly workspaces: WorkspacePlaces;
}
