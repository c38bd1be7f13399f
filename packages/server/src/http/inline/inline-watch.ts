/**
 * Tracks who waits for the answer of an inline run. A run that was started to answer one request has no other reader,
 * so it is stopped when that reader has been gone for a grace period. A retry that attaches in time keeps it.
 *
 *   attached ──the last reader leaves──▶ in grace ──nobody came back──▶ stopped
 *       ▲───────────a reader attaches───────────┘
 *
 * When the server itself cuts a reader off (it shuts down, or a stream cannot continue), the run continues. It also
 * continues after a crash.
 *
 * On a store that several servers share, a retry may reach another server. So before a run is stopped, the others are
 * asked whether they have a reader of it. A server that has one becomes responsible for the run (`takeUp`).
 */
import { TalariaError } from '@talaria/protocol';
import type { Log } from '../../basics/log.ts';

export interface InlineWatchOptions {
  graceMs: number;
  stop(owner: string, runId: string): Promise<void>;
  /** Whether another server has a reader of the run and is responsible for it now. */
  isTakenUp(runId: string): Promise<boolean>;
  log: Pick<Log, 'info' | 'error'>;
}

export interface InlineReader {
  /** The connection is closed. */
  leave(): void;
  /** The reader has everything it will get, or it is on the way: its leaving means nothing now. */
  done(): void;
}

/** The reader of a run that continues even if its reader leaves. */
export const NO_READER: InlineReader = { leave() {}, done() {} };

interface WatchedRun {
  readers: number;
  /** Whether to stop the run when the last reader has left. */
  responsible: boolean;
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
    const reader = this.join(owner, runId);
    this.takeUp(runId);
    return reader;
  }

  /** Like `attach`, but if nobody is responsible for the run, it stays so. */
  join(owner: string, runId: string): InlineReader {
    const run: WatchedRun = this.#runs.get(runId) ?? { readers: 0, responsible: false, grace: undefined };
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
        if (this.#closed || !run.responsible) this.#runs.delete(runId);
        else run.grace = setTimeout(() => void this.#stop(owner, runId), this.#options.graceMs);
      },
      done: () => {
        if (detach()) this.#runs.delete(runId);
      },
    };
  }

  /**
   * Makes this server responsible for a run that has a reader here, or had one a moment ago; false for any other run.
   */
  takeUp(runId: string): boolean {
    const run = this.#runs.get(runId);
    if (run !== undefined) run.responsible = true;
    return run !== undefined;
  }

  /** From now on nothing is stopped. */
  close(): void {
    this.#closed = true;
    for (const { grace } of this.#runs.values()) clearTimeout(grace);
    this.#runs.clear();
  }

  async #stop(owner: string, runId: string): Promise<void> {
    this.#runs.delete(runId);
    const { stop, isTakenUp, log } = this.#options;
    try {
      if (await isTakenUp(runId)) {
        log.info(
          { runId },
          'nobody waits for the answer of the run here, but a client of another server does',
        );
        return;
      }
      // A reader may have come, or the server may have closed, while the others were asked.
      if (this.#runs.has(runId) || this.#closed) return;
      await stop(owner, runId);
      log.info({ runId }, 'nobody waits for the answer of the run any more; stopping it');
    } catch (error) {
      const isOver =
        error instanceof TalariaError && ['run_not_active', 'run_not_found'].includes(error.code);
      if (!isOver) log.error({ runId, err: error }, 'a run nobody waits for could not be stopped');
    }
  }
}
