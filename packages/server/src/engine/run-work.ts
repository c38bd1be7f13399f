/**
 * The work on runs in this process: claims them, gives back those it cannot finish, and clears those whose retention is
 * over. A process without it only accepts and shows runs; other processes work on them.
 */

import type { WorkspaceWriter } from '@talaria/sandbox';
import type { QueuePace } from '../basics/queue-pace.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { observed } from '../telemetry/run-facts.ts';
import { BlobSweep } from './blob-sweep.ts';
import { DiskBound } from './disk-bound.ts';
import { Dispatcher } from './dispatcher.ts';
import { noticedWriter } from './noticed-writer.ts';
import { Retention } from './retention.ts';
import type { WorkerDependencies } from './run-worker.ts';
import { SessionRetention } from './session-retention.ts';
import type { OpenWriter } from './workspace-access.ts';

/** How much work this process has, for the queue limit and for metrics. */
export interface Workload {
  /** How many more runs could be worked on now. */
  readonly room: number;
  readonly active: number;
  readonly maxActive: number;
}

/** For a process that works on no runs. */
export const NO_WORK: Workload = { room: 0, active: 0, maxActive: 0 };

export interface RunWorkOptions {
  /** The name under which it claims runs. */
  serverId: string;
  dependencies: WorkerDependencies;
  blobs: BlobStore;
  maxConcurrentRuns: number;
  maxKeptSandboxes: number;
  leaseMs: number;
  retentionMs: number;
  /** How long lists show a run after its end. */
  headRetentionMs: number;
  /** How long a session is kept after its last use; 0 means forever. */
  sessionRetentionMs: number;
  openWriter: OpenWriter;
  discardWorkspace(runId: string): Promise<void>;
  /** What the files of a run take on the disk of this server, and what ended runs may take together. */
  diskUsage(runId: string): Promise<number>;
  runDiskBytes: number;
  /** Saves what must outlive the run; afterwards the run is evicted. */
  beforeEviction(runId: string): Promise<void>;
  /** Learns how fast workers become free while runs wait for one. */
  pace: QueuePace;
}

export class RunWork implements Workload {
  readonly maxActive: number;
  readonly disk: DiskBound;
  readonly #openWriter: OpenWriter;
  readonly #dispatcher: Dispatcher;
  readonly #retention: Retention;
  readonly #sessionRetention: SessionRetention;
  readonly #blobSweep: BlobSweep;

  constructor(options: RunWorkOptions) {
    const { serverId, dependencies, maxConcurrentRuns, maxKeptSandboxes, leaseMs, pace } = options;
    const { journal, log, report } = dependencies;
    this.maxActive = maxConcurrentRuns;
    this.#openWriter = options.openWriter;
    this.#dispatcher = new Dispatcher({
      worker: serverId,
      maxConcurrent: maxConcurrentRuns,
      maxKeptSandboxes,
      leaseMs,
      dependencies,
      pace,
      onClaim: ({ epoch, run }) => {
        report({ fact: 'run.claimed', run: observed(run), at: run.updatedAt, first: epoch === 1 });
      },
    });
    this.disk = new DiskBound({ ...options, kept: journal.kept, maxBytes: options.runDiskBytes, log });
    this.#retention = new Retention({ ...options, journal, disk: this.disk, log });
    this.#blobSweep = new BlobSweep({ contents: journal.contents, blobs: options.blobs, log });
    this.#sessionRetention = new SessionRetention({ ...options, sessions: journal.sessions, log });
  }

  get room(): number {
    return this.#dispatcher.room;
  }

  get active(): number {
    return this.#dispatcher.active;
  }

  /** As the sandbox opens it; but what is written after the end of a run counts, too. */
  async openWriter(runId: string): Promise<WorkspaceWriter | undefined> {
    const writer = await this.#openWriter(runId);
    return writer && noticedWriter(writer, () => this.disk.changed(runId));
  }

  /** Starts to claim unfinished and new runs. */
  start(): void {
    this.#dispatcher.start();
    this.#retention.start();
    this.#sessionRetention.start();
    this.#blobSweep.start();
  }

  /** Stops claiming, and hands unfinished runs over within the limit. */
  async drain(limitMs: number): Promise<void> {
    await this.#dispatcher.drain(limitMs);
    await Promise.all([this.#retention.stop(), this.#sessionRetention.stop(), this.#blobSweep.stop()]);
  }
}
