/**
 * Claims runs while there is room, keeps their leases alive, and hands them over on shutdown.
 *
 * It tries to claim when the queue may have changed, when a worker is done that others may wait for, and in a poll, which
 * finds runs whose owner died. When a run is claimed while an old worker of this process still holds it (its lease ended because the process
 * was stalled), the new work waits until that worker has let go.
 *
 * One decision sets both how soon the runs of a dead server continue and how long a server may stall without losing its
 * own. A lease is renewed after each quarter of its length, so a stall of less than three quarters costs nothing. A
 * dead server's run is found at the latest one poll after the end of its lease.
 *
 * While the store is unavailable nobody can renew. When it is back, all leases may have ended although all their owners
 * live. So this server first renews its own leases, and claims nothing for half a lease, so that the others can do the
 * same.
 */
import { Handover } from '../agent/agent-run.ts';
import { atMost } from '../basics/at-most.ts';
import type { QueuePace } from '../basics/queue-pace.ts';
import { TransientMap } from '../basics/transient-map.ts';
import { type Claim, LeaseLostError } from '../journal/journal.ts';
import { KeptSandboxes } from './kept-sandboxes.ts';
import { RunWorker, type WorkerDependencies } from './run-worker.ts';

const POLL_MS = 1_000;
/** How often a lease is renewed during its length. */
const RENEWALS = 4;
/** How long a worker may take to let go after it was abandoned: the grace of its agent and the last write. */
const ABANDON_MS = 4_000;

export interface DispatcherOptions {
  worker: string;
  maxConcurrent: number;
  /** How many runs may keep their sandbox while they wait for somebody outside; they are not among the concurrent ones. */
  maxKeptSandboxes: number;
  leaseMs: number;
  /** What every worker gets. */
  dependencies: WorkerDependencies;
  pace: QueuePace;
  /** Called whenever a run leaves the queue. */
  onClaim(claim: Claim): void;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #workers = new TransientMap<RunWorker>();
  readonly #draining = new AbortController();
  readonly #kept: KeptSandboxes;
  #unwatch = (): void => {};
  #poll: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | undefined;
  #again = false;
  /** Whether runs may wait that there was no room for. */
  #moreWaits = false;
  #renewedAt: number;
  /** The time since which every call of the store has failed. */
  #awaySince: number | undefined;
  #claimsFrom = 0;
  /** How many places the claim in progress may fill. */
  #claimable = 0;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#kept = new KeptSandboxes({
      max: options.maxKeptSandboxes,
      hasRoom: () => this.room > this.#claimable,
      onPlace: () => this.#placeIsFree(),
    });
    this.#renewedAt = options.dependencies.now();
  }

  start(): void {
    const { dependencies, leaseMs } = this.#options;
    const { journal, now } = dependencies;
    this.#unwatch = journal.watchQueue(() => this.#wake());
    // Even without room: a claim of zero runs still ends stopped runs that nobody holds.
    this.#poll = setInterval(() => this.#claimSoon(), POLL_MS);
    this.#heartbeat = setInterval(() => {
      if (this.#workers.size > 0) void this.#renew();
      else this.#renewedAt = now();
    }, leaseMs / RENEWALS);
    this.#wake();
  }

  /** How many runs are worked on, without those that wait. */
  get active(): number {
    return this.#workers.size - this.#kept.size;
  }

  /**
   * Stops claiming and waits for the workers to reach a point from which another owner can continue. Workers that have
   * not reached one after `limitMs` are cut off. Resolves when every worker has let go, in bounded time.
   */
  async drain(limitMs: number): Promise<void> {
    this.#unwatch();
    clearInterval(this.#poll);
    this.#draining.abort();
    this.#kept.close();
    await this.#claiming;
    await this.#allDone(limitMs);
    for (const worker of this.#workers.values()) worker.abandon(new Handover());
    await this.#allDone(ABANDON_MS);
    clearInterval(this.#heartbeat);
  }

  /** How many more runs could be worked on now. */
  get room(): number {
    return Math.max(0, this.#options.maxConcurrent - this.active);
  }

  #wake(): void {
    if (this.room > 0) this.#claimSoon();
    else this.#moreWaits = true;
  }

  #claimSoon(): void {
    if (this.#draining.signal.aborted) return;
    if (this.#claiming === undefined) this.#claiming = this.#claim();
    else this.#again = true;
  }

  async #claim(): Promise<void> {
    const { dependencies, worker, leaseMs } = this.#options;
    try {
      do {
        this.#again = false;
        if (!(await this.#mayClaim())) break;
        const { room } = this;
        this.#claimable = room;
        const claims = await dependencies.journal.claim(worker, leaseMs, room);
        this.#moreWaits = claims.length >= room;
        for (const claim of claims) await this.#take(claim);
        // Without room runs may wait that this server has not heard of.
        if (this.room === 0) this.#options.pace.crowded();
        else if (!this.#moreWaits) this.#options.pace.quiet();
      } while (this.#again && this.room > 0 && !this.#draining.signal.aborted);
    } catch (error) {
      this.#noteFailure(error, 'claiming runs failed; it will be retried');
    } finally {
      this.#claiming = undefined;
      this.#claimable = 0;
      this.#kept.admit();
    }
  }

  #placeIsFree(): void {
    this.#options.pace.tick();
    this.#kept.admit();
    if (this.#moreWaits) this.#wake();
  }

  /** Whether an expired lease really means that nobody holds the run. */
  async #mayClaim(): Promise<boolean> {
    const { leaseMs, dependencies } = this.#options;
    const { now } = dependencies;
    // After a stall our own leases may have ended; renew them before looking for ended leases.
    if (this.#awaySince !== undefined || now() - this.#renewedAt > leaseMs / 2) await this.#renew();
    return this.#awaySince === undefined && now() >= this.#claimsFrom;
  }

  async #take(claim: Claim): Promise<void> {
    this.#options.onClaim(claim);
    // Claimed while the shutdown began: nobody waits for this run any more.
    if (this.#draining.signal.aborted) await this.#options.dependencies.journal.release(claim);
    else void this.#start(claim);
  }

  async #start(claim: Claim): Promise<void> {
    const old = this.#workers.get(claim.runId);
    if (old !== undefined) {
      old.abandon(new LeaseLostError(claim.runId));
      await old.done;
    }
    const worker = new RunWorker(claim, this.#options.dependencies, this.#draining.signal, this.#kept);
    this.#workers.set(claim.runId, worker);
    await worker.done;
    if (this.#workers.get(claim.runId) === worker) this.#workers.delete(claim.runId);
    this.#placeIsFree();
  }

  async #renew(): Promise<void> {
    const { dependencies, worker, leaseMs } = this.#options;
    const { journal, now } = dependencies;
    const claims = this.#workers.values().map(({ claim: { runId, epoch } }) => ({ runId, epoch }));
    const startedAt = now();
    try {
      const lost = await journal.renew(worker, claims, leaseMs);
      this.#renewedAt = startedAt;
      this.#noteSuccess();
      for (const { runId, epoch } of lost) {
        const holder = this.#workers.get(runId);
        if (holder?.claim.epoch === epoch) holder.abandon(new LeaseLostError(runId));
      }
    } catch (error) {
      this.#noteFailure(error, 'renewing leases failed; it will be retried');
    }
  }

  #noteFailure(error: unknown, message: string): void {
    // Logged once per outage: every second brings the same error again.
    const { log, now } = this.#options.dependencies;
    if (this.#awaySince === undefined) log.error({ err: error }, message);
    this.#awaySince ??= now();
  }

  #noteSuccess(): void {
    const { leaseMs, dependencies } = this.#options;
    const { now } = dependencies;
    if (this.#awaySince === undefined) return;
    if (now() - this.#awaySince > leaseMs / RENEWALS) this.#claimsFrom = now() + leaseMs / 2;
    this.#awaySince = undefined;
  }

  async #allDone(limitMs: number): Promise<void> {
    await atMost(limitMs, Promise.all(this.#workers.values().map((worker) => worker.done)));
  }
}
