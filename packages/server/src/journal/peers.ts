/**
 * What servers on one store know of each other, and where the workspaces of runs are: of a store that several servers
 * share. An embedded store has one server and nothing of this.
 *
 * - A workspace lies on the server that made it. It is on record before it is made (`place`), under the lease of the
 *   run, so that of several servers that worked on a run the one with the highest epoch has its files. What the
 *   others have is of an earlier time.
 * - Deleting a run marks its workspaces as evicted in the same transaction; each server deletes those it has, and then
 *   their rows. What no row names is nobody's to delete: the directory may have been used with another store.
 * - Time is the store's clock.
 */
import type { Lease } from './journal.ts';

/** A server that was not seen for so long has ended, or is cut off: several times as long as between two signs of life. */
export const SILENT_MS = 20_000;

export interface NewServer {
  serverId: string;
  /** Where the others reach it. */
  url: string;
  role: string;
  version: string;
  /** How many runs it works on at the same time. */
  maxRuns: number;
}

export interface KnownServer extends NewServer {
  startedAt: number;
  seenAt: number;
  /** When it ended in good order; null for one that lives, or did not. */
  stoppedAt: number | null;
}

/** Whether it was stopped, or not seen for so long that it may be dead. */
export function isSilent({ seenAt, stoppedAt }: KnownServer, now: number): boolean {
  return stoppedAt !== null || now - seenAt > SILENT_MS;
}

export interface Servers {
  /** The server is there, from now on. Returns when, which with its id names this life of it. */
  announce(server: NewServer): Promise<number>;
  /** It still is, also for a store that knows nothing of it any more. False when another process goes by its id since. */
  renew(server: NewServer, startedAt: number): Promise<boolean>;
  /** It ends. */
  leave(serverId: string, startedAt: number): Promise<void>;
  /** All that are known, the one seen last first. */
  list(): Promise<{ now: number; servers: KnownServer[] }>;
  /** Deletes those that were not seen for so long and have no workspace of a run that is kept, and what was on record of them. */
  forget(unseenMs: number): Promise<void>;
}

export interface Place {
  serverId: string;
  /** Undefined for a server that was forgotten. */
  server: KnownServer | undefined;
}

export interface WorkspacePlaces {
  /** The workspace of the run is on this server from now on. Rejects with `LeaseLostError` when the lease is lost. */
  place(lease: Lease, serverId: string): Promise<void>;
  /** Where the run's files are; undefined before a workspace was on record. */
  locate(runId: string): Promise<Place | undefined>;
  /** Puts what a server found on its disk on record, where nothing is. Returns those of which there is no run and no record. */
  adopt(serverId: string, runIds: readonly string[]): Promise<string[]>;
  /** Workspaces on this server whose runs are gone. */
  evicted(serverId: string, limit: number): Promise<string[]>;
  /** They are deleted. */
  removed(serverId: string, runIds: readonly string[]): Promise<void>;
}

export interface Peers {
  /** Random bytes, the same for all servers of the store, with which they know each other. */
  readonly secret: Uint8Array;
  readonly servers: Servers;
  readonly workspaces: WorkspacePlaces;
}
