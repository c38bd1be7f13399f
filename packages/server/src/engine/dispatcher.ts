/**
 * Claims runs while there is room, keeps their leases alive, and hands them over on shutdown.
 *
 * A claim is tried when the queue may have changed, when a worker is done, and by a slow poll, which finds runs
 * whose owner died. A run that is claimed while an old worker of this process still holds it (its lease ended
 * because the process was stalled) waits until that worker has let go.
 */
import { Handover } from '../agent/agent-run.ts';
import { atMost } from '../at-most.ts';
import { type Claim, type Journal, LeaseLostError } from '../journal/journal.ts';
import type { Log } from '../log.ts';
import { RunWorker, type WorkerDependencies } from './run-worker.ts';

const POLL_MS = 2_000;
/** What a worker may take to let go after it was abandoned: the grace of its agent and the last write. */
const ABANDON_MS = 4_000;

export interface DispatcherOptions {
  worker: string;
  journal: Journal;
  maxConcurrent: number;
  leaseMs: number;
  log: Log;
  now(): number;
  dependencies: WorkerDependencies;
  /** Called whenever a run leaves the queue. */
  onClaim(claim: Claim): void;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #workers = new Map<string, RunWorker>();
  readonly #draining = new AbortController();
  #unwatch = (): void => {};
  #poll: NodeJS.Timeout | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | undefined;
  #again = false;
  #renewedAt: number;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#renewedAt = options.now();
  }

  start(): void {
    const { journal, leaseMs } = this.#options;
    this.#unwatch = journal.watchQueue(() => this.#wake());
    // Also without room: a claim of nothing still ends stopped runs that nobody holds.
    this.#poll = setInterval(() => this.#claimSoon(), POLL_MS);
    this.#heartbeat = setInterval(() => void this.#renew(), leaseMs / 3);
    this.#wake();
  }

  get active(): number {
    return this.#workers.size;
  }

  get waitingForApproval(): number {
    return [...this.#workers.values()].filter((worker) => worker.waitsForApproval).length;
  }

  /**
   * Stops claiming and waits for the workers to reach a point from which another owner can go on; those that
   * have not after `limitMs` are cut off. Resolves when every worker has let go, in bounded time.
   */
  async drain(limitMs: number): Promise<void> {
    this.#unwatch();
    clearInterval(this.#poll);
    this.#draining.abort();
    await this.#claiming;
    await this.#allDone(limitMs);
    for (const worker of this.#workers.values()) worker.abandon(new Handover());
    await this.#allDone(ABANDON_MS);
    clearInterval(this.#heartbeat);
  }

  /** How many more runs could be worked on now. */
  get room(): number {
    return Math.max(0, this.#options.maxConcurrent - this.#workers.size);
  }

  #wake(): void {
    if (this.room > 0) this.#claimSoon();
  }

  #claimSoon(): void {
    if (this.#draining.signal.aborted) return;
    if (this.#claiming === undefined) this.#claiming = this.#claim();
    else this.#again = true;
  }

  async #claim(): Promise<void> {
    const { journal, worker, leaseMs, log } = this.#options;
    try {
      do {
        this.#again = false;
        // After a stall our own leases may have ended; renew them before looking for ended leases.
        if (this.#options.now() - this.#renewedAt > leaseMs / 2) await this.#renew();
        const claims = await journal.claim(worker, leaseMs, this.room);
        for (const claim of claims) await this.#take(claim);
        if (claims.length > 0) this.#again = true;
      } while (this.#again && this.room > 0 && !this.#draining.signal.aborted);
    } catch (error) {
      log.error({ err: error }, 'claiming runs failed; it is tried again');
    } finally {
      this.#claiming = undefined;
    }
  }

  async #take(claim: Claim): Promise<void> {
    this.#options.onClaim(claim);
    // Claimed while the shutdown began: nobody waits for it any more.
    if (this.#draining.signal.aborted) await this.#options.journal.release(claim);
    else void this.#start(claim);
  }

  async #start(claim: Claim): Promise<void> {
    const old = this.#workers.get(claim.runId);
    if (old !== undefined) {
      old.abandon(new LeaseLostError(claim.runId));
      await old.done;
    }
    const worker = new RunWorker(claim, this.#options.dependencies, this.#draining.signal);
    this.#workers.set(claim.runId, worker);
    await worker.done;
    if (this.#workers.get(claim.runId) === worker) this.#workers.delete(claim.runId);
    this.#wake();
  }

  async #renew(): Promise<void> {
    const { journal, worker, leaseMs, log, now } = this.#options;
    const claims = [...this.#workers.values()].map(({ claim: { runId, epoch } }) => ({ runId, epoch }));
    try {
      this.#renewedAt = now();
      const lost = claims.length === 0 ? [] : await journal.renew(worker, claims, leaseMs);
      for (const { runId, epoch } of lost) {
        const holder = this.#workers.get(runId);
        if (holder?.claim.epoch === epoch) holder.abandon(new LeaseLostError(runId));
      }
    } catch (error) {
      log.error({ err: error }, 'renewing leases failed; it is tried again');
    }
  }

  async #allDone(limitMs: number): Promise<void> {
    await atMost(limitMs, Promise.all([...this.#workers.values()].map((worker) => worker.done)));
  }
}
