/**
 * Who waits for the answer of an inline run. A run that was started for the answer to one request has no other reader,
 * so when that leaves, the run is stopped after a grace; a retry that attaches in time keeps it.
 *
 *   attached ──the last reader leaves──▶ in grace ──nobody came back──▶ stopped
 *       ▲───────────a reader attaches───────────┘
 *
 * What the server cuts off itself (it shuts down, a stream cannot go on) is no leaving: the run goes on, and so it does
 * after a crash.
 *
 * On a store that several servers share, a retry may come to another one. So before a run is stopped the others are asked
 * whether they have a reader of it; one that has is responsible for the run from then on (`takeUp`).
 */
import { TalariaError } from '@talaria/protocol';
import type { Log } from '../../basics/log.ts';

export interface InlineWatchOptions {
  graceMs: number;
  stop(owner: string, runId: string): Promise<void>;
  /** Whether another server has a reader of the run, and is responsible for it now. */
  isTakenUp(runId: string): Promise<boolean>;
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
  /** Whether the run is to be stopped when the last of them has left. */
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

  /** As `attach`, but a run that nobody is responsible for stays so. */
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

  /** Makes this server responsible for a run that has a reader here, or had one just now; false for any other. */
  takeUp(runId: string): boolean {
    const run = this.#runs.get(runId);
    if (run !== undefined) run.responsible = true;
    return run !== undefined;
  }

  /** Nothing is stopped any more. */
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
          'nobody waits for the answer of the run here, but somebody waits for it at another server',
        );
        return;
      }
      // Somebody may have come, or the server closed, while the others were asked.
      if (this.#runs.has(runId) || this.#closed) return;
      await stop(owner, runId);
      log.info({ runId }, 'nobody waits for the answer of the run any more; it is stopped');
    } catch (error) {
      const isOver =
        error instanceof TalariaError && ['run_not_active', 'run_not_found'].includes(error.code);
      if (!isOver) log.error({ runId, err: error }, 'a run nobody waits for could not be stopped');
    }
  }
}
