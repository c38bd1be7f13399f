/**
 * The work on runs in this process: claims them, gives back what it cannot finish, and clears away what has been kept
 * for its time. A process without it only takes and shows runs; those of another process work on them.
 */

import { observed } from '../telemetry/run-facts.ts';
import { Dispatcher } from './dispatcher.ts';
import type { QueuePace } from './pace.ts';
import { Retention } from './retention.ts';
import type { WorkerDependencies } from './run-worker.ts';
import { SessionRetention } from './session-retention.ts';

/** How much is worked on here, for those who take runs and those who measure. */
export interface Workload {
  /** How many more runs could be worked on now. */
  readonly room: number;
  readonly active: number;
  readonly maxActive: number;
  /** Of the active ones. */
  readonly waitingForApproval: number;
}

/** Of a process that works on no runs. */
export const NO_WORK: Workload = { room: 0, active: 0, maxActive: 0, waitingForApproval: 0 };

export interface RunWorkOptions {
  /** The name under which it claims runs. */
  serverId: string;
  dependencies: WorkerDependencies;
  maxConcurrentRuns: number;
  leaseMs: number;
  retentionMs: number;
  /** After its last use; 0 is for ever. */
  sessionRetentionMs: number;
  discardWorkspace(runId: string): Promise<void>;
  /** Keeps what is to outlive the run; it is evicted afterwards. */
  beforeEviction(runId: string): Promise<void>;
  /** Is told of every run that leaves the queue. */
  pace: QueuePace;
}

export class RunWork implements Workload {
  readonly maxActive: number;
  readonly #dispatcher: Dispatcher;
  readonly #retention: Retention;
  readonly #sessionRetention: SessionRetention;

  constructor(options: RunWorkOptions) {
    const { serverId, dependencies, maxConcurrentRuns, leaseMs, pace } = options;
    const { journal, log, report } = dependencies;
    this.maxActive = maxConcurrentRuns;
    this.#dispatcher = new Dispatcher({
      worker: serverId,
      maxConcurrent: maxConcurrentRuns,
      leaseMs,
      dependencies,
      onClaim: ({ epoch, run }) => {
        pace.tick();
        report({ fact: 'run.claimed', run: observed(run), at: run.updatedAt, first: epoch === 1 });
      },
    });
    this.#retention = new Retention({ ...options, journal, log });
    this.#sessionRetention = new SessionRetention({ ...options, sessions: journal.sessions, log });
  }

  get room(): number {
    return this.#dispatcher.room;
  }

  get active(): number {
    return this.#dispatcher.active;
  }

  get waitingForApproval(): number {
    return this.#dispatcher.waitingForApproval;
  }

  /** Takes up what is unfinished and whatever comes. */
  start(): void {
    this.#dispatcher.start();
    this.#retention.start();
    this.#sessionRetention.start();
  }

  /** Takes up nothing more, and hands the unfinished runs over within the limit. */
  async drain(limitMs: number): Promise<void> {
    await this.#dispatcher.drain(limitMs);
    await Promise.all([this.#retention.stop(), this.#sessionRetention.stop()]);
  }
}
