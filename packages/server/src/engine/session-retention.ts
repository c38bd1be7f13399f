/** Deletes sessions that have been unused for long. */

import type { Log } from '../basics/log.ts';
import { sweepInBatches } from '../basics/sweep-in-batches.ts';
import { SweepTimer } from '../basics/sweep-timer.ts';
import type { Sessions } from '../journal/sessions.ts';

/** Small, because a transcript may be long: a deletion never delays the appends of running runs for long. */
const BATCH = 5;

export interface SessionRetentionOptions {
  sessions: Sessions;
  /** How long a session is kept after its last use; 0 means forever. */
  sessionRetentionMs: number;
  log: Log;
}

export class SessionRetention {
  readonly #options: SessionRetentionOptions;
  readonly #timer = new SweepTimer((signal) => this.#sweep(signal));

  constructor(options: SessionRetentionOptions) {
    this.#options = options;
  }

  start(): void {
    const { sessionRetentionMs } = this.#options;
    if (sessionRetentionMs > 0) this.#timer.start(sessionRetentionMs);
  }

  stop(): Promise<void> {
    return this.#timer.stop();
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { sessions, sessionRetentionMs, log } = this.#options;
    try {
      await sweepInBatches((batch) => sessions.sweep(sessionRetentionMs, batch), BATCH, signal);
    } catch (error) {
      log.error({ err: error }, 'deleting unused sessions failed; it will be retried');
    }
  }
}
