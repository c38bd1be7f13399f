/**
 * The contract of the store. One suite (`journal.contract.ts`) tests it, and every driver passes that suite.
 *
 * Invariants
 * - A run is its records, in one order. `pos` counts them from 0 without gaps; `seq` counts the public ones
 *   from 0 without gaps. Neither ever changes.
 * - When `createRun`, `append`, `post`, `claim` or `release` resolves, what it did is durable: it survives the
 *   death of the process and of the machine. When it rejects, it did nothing.
 * - A call is atomic: its records become visible together, together with the folded state of the run.
 * - `append` is fenced: the caller passes the epoch of its claim. The store refuses it with `LeaseLostError`
 *   once the run was released or claimed again. At most one owner's appends succeed.
 * - Nobody can append after a terminal record. The store refuses a terminal record with `UnseenPostError` while
 *   there is a post that the owner has not seen: no completion overtakes an accepted stop or steer.
 * - Readers see only durable records, in order. The store wakes a watcher after a record is durable, at least once
 *   and possibly more often. Watchers read the store. A wake-up for events may bring those that have just become durable,
 *   and then a watcher that has all events before them need not read.
 * - Time (leases, retention, deadlines) is the store's clock, not the caller's.
 */
import type { EventName, RunStatus } from '@talaria/protocol';
import type { Approvals } from './approvals.ts';
import type { Changes } from './changes.ts';
import type { CheckpointRecord, KeptSessionFiles } from './checkpoints.ts';
import type { Contents, HeldBlob, NewBlob, SmallBlob } from './contents.ts';
import type { Conversations } from './conversations.ts';
import type { Files } from './files.ts';
import type { Heads } from './heads.ts';
import type { JobFiring, Jobs } from './jobs.ts';
import type { KeptRuns } from './kept-runs.ts';
import type { Outbox, Webhook } from './outbox.ts';
import type { Peers } from './peers.ts';
import type { Post } from './posts.ts';
import type { LogRecord, NewRecord, RunRequest } from './records.ts';
import type { NewResponse, Responses } from './responses.ts';
import type { StoredRun } from './run-state.ts';
import type { SessionOfRun, Sessions, Turn } from './sessions.ts';
import type { EventListener } from './wakeups.ts';

export interface NewRun {
  runId: string;
  owner: string;
  sessionId: string;
  request: RunRequest;
  idempotency?: IdempotencyKey | undefined;
  /** Where its end and its approval requests are sent. */
  webhook?: Webhook | undefined;
  /** For a run that is a stored response; its session has to be a named one. */
  response?: NewResponse | undefined;
  /** The job that starts it. */
  job?: JobFiring | undefined;
  /** How long it is kept after its end; that of the server by default (kept-runs.ts). */
  retentionMs?: number | undefined;
  /** The blobs it needs until it is evicted; see contents.ts for when the run is refused. */
  blobs?: readonly HeldBlob[] | undefined;
  /** For a fork whose session, which is new, begins as that of another run; see sessions.ts. */
  sessionFork?: SessionOfRun | undefined;
}

/** The same key and body return the same run, until `keptMs` (a day) after its end. */
export interface IdempotencyKey {
  key: string;
  bodyHash: string;
  keptMs?: number | undefined;
}

/** What an idempotency key stands for. */
export interface KnownKey {
  runId: string;
  bodyHash: string;
  /** The status of the run now, or when it was evicted. */
  status: RunStatus;
}

export interface CreateLimits {
  /**
   * The queue is full when this many runs wait for a worker. A store that several servers share knows how much room the
   * others have, and admits that many more.
   */
  maxQueued: number;
  /** Each owner may have this many runs in the queue even if it is full, so no owner can lock the others out. */
  ownerShare: number;
}

export type CreateOutcome =
  | { kind: 'created' }
  /**
   * The key was used with this body before: the first run, in its present state (or in the state in which it was
   * evicted).
   */
  | { kind: 'replayed'; runId: string; status: RunStatus }
  | { kind: 'conflict' }
  /** `excess`: how many runs have to leave the queue, at least, before one of this owner is admitted. */
  | { kind: 'queue_full'; excess: number }
  /** The job has changed since it was read, or its last run is unfinished; see jobs.ts. */
  | { kind: 'job_changed' };

export interface Lease {
  runId: string;
  epoch: number;
}

/** A run has nothing to do until somebody outside answers it, or until this time is over. */
export interface Wait {
  ms: number;
  /** The last posted position that the owner has handled; after a later one the run does not wait. */
  seenPostedPos: number;
}

export interface Claim extends Lease {
  run: StoredRun;
}

/** An event as the stream shows it; `payload` is the JSON text of its public fields. */
export interface StoredEvent {
  seq: number;
  /** A server of a later version may have written an event that this one does not know. */
  event: EventName;
  /** Milliseconds since the epoch. */
  at: number;
  payload: string;
}

export interface AppendOptions {
  /** The last posted position that the owner has handled; required for a terminal record. */
  seenPostedPos?: number;
  /** What the run adds to its session; only with `run.completed`. */
  turn?: Turn;
  /** New blobs that the run needs from now on, until it is evicted; see contents.ts for when they are refused. */
  blobs?: readonly (NewBlob | SmallBlob)[];
  /** The files that the session keeps of the run, with all blobs of their checkpoint; only with a terminal record. */
  sessionFiles?: KeptSessionFiles;
}

export interface RunFilter {
  owner: string;
  /** Any of these statuses; all if none is named. */
  statuses?: readonly RunStatus[] | undefined;
  sessionId?: string | undefined;
  jobId?: string | undefined;
  /** Created at this time or later, and before `until`; in milliseconds. */
  since?: number | undefined;
  until?: number | undefined;
  /** Each word is in the prompt, as far as it is shown, or in the answer; case does not matter. */
  words?: readonly string[] | undefined;
  /** The `next` of the page before; rejects with `invalid_cursor` if it is not one of this owner's. */
  after?: string | undefined;
  limit: number;
  /** The page ends with the run whose stored state reaches this total size. */
  maxChars?: number | undefined;
}

export interface RunPage {
  /** At most `limit`; a search may find fewer, even none, although there are older runs to search. */
  runs: StoredRun[];
  /**
   * Where the next page begins; undefined when no older run matches, or, for a search, when no older run is left. It
   * reveals nothing to its holder (see cursors.ts), and stays valid after a restart and after the eviction of every run
   * on the page.
   */
  next?: string | undefined;
}

export interface EvictOptions {
  /** How long after its end lists still show a run; see heads.ts. */
  headRetentionMs: number;
}

export interface QueueDepth {
  /** Unfinished runs that wait for a worker. */
  queued: number;
  /** Unfinished runs under a lease. */
  leased: number;
  /** Unfinished runs that are parked: they wait for somebody outside. */
  waiting: number;
  /** Those among them that wait for an approval. */
  waitingForApproval: number;
}

/** Where a run is that waits for a worker. */
export interface QueuePosition {
  /** Among the waiting runs of its owner, from 1, in the order in which they are claimed; counted up to `POSITION_MAX`. */
  position: number;
  /** Whether an earlier run of its session is unfinished. */
  isBehindSession: boolean;
  /** Whether another server may claim it; false in a store that serves one process. */
  isServedElsewhere: boolean;
}

/** To count on would cost a read per waiting run and tell nobody more. */
export const POSITION_MAX = 1_000;

export interface StoreHealth {
  /** Whether a write of normal size has just become durable. */
  writable: boolean;
  /** The last failure of the store itself (not a refusal) since it was opened. */
  lastError: { message: string; at: number } | null;
}

export interface Journal {
  readonly sessions: Sessions;
  readonly outbox: Outbox;
  readonly conversations: Conversations;
  readonly responses: Responses;
  readonly jobs: Jobs;
  readonly approvals: Approvals;
  readonly changes: Changes;
  readonly contents: Contents;
  readonly files: Files;
  readonly heads: Heads;
  readonly kept: KeptRuns;
  /** Only in a store that several servers share. */
  readonly peers?: Peers;
  createRun(run: NewRun, limits: CreateLimits): Promise<CreateOutcome>;
  /** Undefined for a key that was not used, or that has expired. */
  findKey(owner: string, key: string): Promise<KnownKey | undefined>;
  getRun(runId: string): Promise<StoredRun | undefined>;
  /** Newest first, with the heads of evicted runs. */
  listRuns(filter: RunFilter): Promise<RunPage>;

  append(lease: Lease, records: readonly NewRecord[], options?: AppendOptions): Promise<LogRecord[]>;
  /** Appends the records that `admit` makes of the post, whoever owns the run, and returns them; see posts.ts. */
  post(runId: string, post: Post): Promise<LogRecord[]>;

  /**
   * Events with `seq > afterSeq`, in order, at most `limit`; the one whose payload brings them to `maxChars` is the
   * last. Rejects with `run_not_found` when there is no such run, or no longer: a reader must not take a deleted run
   * for one that has no more events.
   */
  readEvents(runId: string, afterSeq: number, limit: number, maxChars?: number): Promise<StoredEvent[]>;
  /** Records with `pos > afterPos`, in order, without text deltas; the last one is the one that reaches `maxChars`. */
  readLog(runId: string, afterPos: number, maxChars?: number): Promise<LogRecord[]>;
  /** The checkpoints of a run, in order. */
  readCheckpoints(runId: string): Promise<CheckpointRecord[]>;
  /** The position of an event; undefined if the run has no such event. */
  positionOf(runId: string, seq: number): Promise<number | undefined>;
  /** The last event at this position or before; -1 if there is none. */
  lastSeqAt(runId: string, pos: number): Promise<number>;
  /** Posted records with `pos > afterPos`, in order. */
  readPosted(runId: string, afterPos: number): Promise<LogRecord[]>;
  /** The seq of the first text delta or reasoning after `afterPos`: where the output of an interrupted step begins. */
  firstShownAfter(runId: string, afterPos: number): Promise<number | undefined>;
  /** The newest completed run of the same owner and session before this one, unless that session was deleted. */
  previousTurn(run: StoredRun): Promise<string | undefined>;

  /**
   * Takes up to `limit` unfinished runs that nobody holds, at most one per owner and session and only the oldest
   * unfinished of that session. Each gets a new epoch and a `run.claimed` record.
   * - Owner by owner: the next is a run of the owner with the fewest runs under a lease. Among equal owners, the one whose last
   *   run was taken longest ago comes first. So nobody waits for the thousand runs that another has answered together.
   * - Of each owner first those that were claimed before, oldest first, then new ones, oldest first. Of the suspects among the
   *   former (`isSuspect`) only one is under a lease at a time, whoever owns it.
   * The call also cancels runs that were told to stop and have no owner, whatever the limit.
   */
  claim(worker: string, leaseMs: number, limit: number): Promise<Claim[]>;
  /** Extends leases; returns the lost ones. */
  renew(worker: string, leases: readonly Lease[], leaseMs: number): Promise<Lease[]>;
  /**
   * Releases an unfinished run (`run.released`), to be claimed again at once. Does nothing when the lease is lost.
   * With a `wait` it is parked: nobody claims it until a post changes its status or the time is over, whichever comes
   * first. Meanwhile it counts neither as queued nor as leased.
   */
  release(lease: Lease, wait?: Wait): Promise<void>;
  /**
   * Parks the run and keeps the lease: once it does not wait any more, it is its owner's to continue, and it is claimed
   * only if the lease has ended. Does nothing when the lease is lost.
   */
  park(lease: Lease, wait: Wait): Promise<void>;

  /**
   * Deletes these runs with all their data except idempotency keys and, while they are kept, their heads; skips unfinished
   * and kept ones. Returns the blobs that nobody needs any more.
   */
  evict(runIds: readonly string[], options: EvictOptions): Promise<string[]>;
  /** Undefined for a run that somebody holds, that is parked or that has ended. */
  queuePosition(run: StoredRun): Promise<QueuePosition | undefined>;
  /** The last known value while the store is unavailable. */
  queueDepth(): Promise<QueueDepth>;
  /** Tries a write. Never rejects, but takes as long as the store does. */
  checkHealth(): Promise<StoreHealth>;

  /** Calls `listener` after records of the run became durable. */
  watchEvents(runId: string, listener: EventListener): () => void;
  /** Calls `listener` after something was posted to the run. */
  watchPosts(runId: string, listener: () => void): () => void;
  /** Calls `listener` when a run may have become claimable. */
  watchQueue(listener: () => void): () => void;

  /** Resolves when every write under way is durable and the store is closed. */
  close(): Promise<void>;
}

/** Another worker has claimed the run: stop working on it. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
  readonly runId: string;
  constructor(runId: string) {
    super(`The lease on ${runId} is lost`);
    this.runId = runId;
  }
}

/** Somebody posted to the run and the owner has not seen it: read the posts, then try again. */
export class UnseenPostError extends Error {
  override readonly name = 'UnseenPostError';
  readonly runId: string;
  constructor(runId: string) {
    super(`A post to ${runId} was not seen yet`);
    this.runId = runId;
  }
}
