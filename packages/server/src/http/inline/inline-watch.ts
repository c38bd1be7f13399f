/**
 * Who waits for the answer of an inline run. A run that was started for the answer to one request has no other reader,
 * so when that leaves, the run is stopped after a grace; a retry that attaches in time keeps it.
 *
 *   attached ──the last reader leaves──▶ in grace ──nobody came back──▶ stopped
 *       ▲───────────a reader attaches───────────┘
 *
 * What the server cuts off itself (it shuts down, a stream cannot go on) is no leaving: the run goes on, and so it does
 * after a crash.
 */
import { TalariaError } from '@talaria/protocol';
import type { Log } from '../../log.ts';

export interface InlineWatchOptions {
  graceMs: number;
  stop(owner: string, runId: string): Promise<void>;
  log: Pick<Log, 'info' | 'error'>;
}

export interface InlineReader {
  /** The connection is closed. */
  leave(): void;
  /** The reader has, or is being sent, all it will get: that it leaves now means nothing. */
  done(): void;
}

/** Of a run that goes on whoever leaves. */
export const NO_READER: InlineReader = { leave() {}, done() {} };

interface WatchedRun {
  readers: number;
  grace: NodeJS.Timeout | undefined;
}

export class InlineWatch {
  readonly #options: InlineWatchOptions;
  readonly #runs = new Map<string, WatchedRun>();
  #closed = false;

  constructor(options: InlineWatchOptions) {
    this.#options = options;
  }

  attach(owner: string, runId: string): InlineReader {
    const run: WatchedRun = this.#runs.get(runId) ?? { readers: 0, grace: undefined };
    this.#runs.set(runId, run);
    clearTimeout(run.grace);
    run.readers += 1;
    let attached = true;
    const detach = (): boolean => {
      if (!attached) return false;
      attached = false;
      run.readers -= 1;
      return run.readers === 0;
    };
    return {
      leave: () => {
        if (!detach()) return;
        if (this.#closed) this.#runs.delete(runId);
        else run.grace = setTimeout(() => void this.#stop(owner, runId), this.#options.graceMs);
      },
      done: () => {
        if (detach()) this.#runs.delete(runId);
      },
    };
  }

  /** As `attach`, for a run that has a reader or had one just now; one that nobody is responsible for is not watched. */
  join(owner: string, runId: string): InlineReader {
    return this.#runs.has(runId) ? this.attach(owner, runId) : NO_READER;
  }

  /** Nothing is stopped any more. */
  close(): void {
    this.#closed = true;
    for (const { grace } of this.#runs.values()) clearTimeout(grace);
    this.#runs.clear();
  }

  async #stop(owner: string, runId: string): Promise<void> {
    this.#runs.delete(runId);
    const { stop, log } = this.#options;
    try {
      await stop(owner, runId);
      log.info({ runId }, 'nobody waits for the answer of the run any more; it is stopped');
    } catch (error) {
      const isOver =
        error instanceof TalariaError && ['run_not_active', 'run_not_found'].includes(error.code);
      if (!isOver) log.error({ runId, err: error }, 'a run nobody waits for could not be stopped');
    }
  }
}
