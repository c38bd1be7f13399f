/** The events of a run, to be read once. Leaving the loop ends the request; the run goes on. */
import { isTerminalEvent, type RunEvent, type TerminalEvent } from '@talaria/protocol';
import { AnswerText } from './answer-text.ts';
import { StreamInterruptedError } from './errors.ts';
import { type ConnectionChange, type FollowOptions, followEvents } from './follow-events.ts';
import { Reading } from './reading.ts';
import type { RequestOptions } from './transport.ts';

export interface StreamOptions extends RequestOptions {
  /** Begins after the event with this `seq` rather than with the first. */
  after?: number | undefined;
  /** Milliseconds of silence after which a connection counts as lost. Servers break silences every 10 to 30 s. */
  stallTimeout?: number | undefined;
  /** Milliseconds for which a lost stream tries to come back; 0 is not at all, `Infinity` for ever. */
  reconnectTimeout?: number | undefined;
  /** Is told when the stream is connected, when that was lost, and when it is back. */
  onConnection?: ((change: ConnectionChange) => void) | undefined;
}

export class RunStream extends Reading<RunEvent> {
  readonly runId: string;
  readonly #text = new AnswerText();
  #cursor: number | undefined;
  #terminal: TerminalEvent | undefined;

  constructor(options: FollowOptions) {
    super(followEvents(options));
    this.runId = options.runId;
    this.#cursor = options.after;
  }

  /** The `seq` of the last event read: what another stream of this run can begin `after`. */
  get cursor(): number | undefined {
    return this.#cursor;
  }

  /** The event the run ended with, after reading what is left. */
  async result(): Promise<TerminalEvent> {
    if (this.#terminal === undefined) await this.finish();
    if (this.#terminal !== undefined) return this.#terminal;
    const message = `The stream of ${this.runId} was closed without a terminal event; poll the run for its state`;
    throw new StreamInterruptedError(message, this.runId, this.#cursor, undefined);
  }

  /**
   * Everything the model said, after reading what is left; what it said again after a restart of the server counts
   * once. The answer alone is the `output` of `run.completed`.
   */
  async text(): Promise<string> {
    if (this.#terminal === undefined) await this.finish();
    return this.#text.toString();
  }

  protected override observe(event: RunEvent): void {
    this.#text.add(event);
    this.#cursor = event.seq;
    if (isTerminalEvent(event.event)) this.#terminal = event as TerminalEvent;
  }
}
