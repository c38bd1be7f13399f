/**
 * Passes each fact to all observers. Measuring never harms the work: an observer's failure ends here, in one log line
 * per observer.
 */
import type { Log } from '../basics/log.ts';
import type { Fact, Report } from './facts.ts';

export class Telemetry {
  readonly #log: Log;
  readonly #receivers = new Set<Report>();
  readonly #failed = new WeakSet<Report>();

  constructor(log: Log) {
    this.#log = log;
  }

  add(receiver: Report): void {
    this.#receivers.add(receiver);
  }

  readonly report: Report = (fact) => {
    for (const receiver of this.#receivers) this.#tell(receiver, fact);
  };

  #tell(receiver: Report, fact: Fact): void {
    try {
      receiver(fact);
    } catch (error) {
      if (this.#failed.has(receiver)) return;
      this.#failed.add(receiver);
      this.#log.error({ err: error, fact: fact.fact }, 'measuring failed; further failures are not logged');
    }
  }
}
