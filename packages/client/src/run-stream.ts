/** The events of a run. Can be read once. Leaving the loop ends the request; the run continues. */
import { isTerminalEvent, type RunEvent, type TerminalEvent } from '@talaria/protocol';
import { AnswerText } from './answer-text.ts';
import { StreamInterruptedError } from './errors.ts';
import { type ConnectionChange, type FollowOptions, followEvents } from './follow-events.ts';
import { Reading } from './reading.ts';
import type { RequestOptions } from './transport.ts';

export interface StreamOptions extends RequestOptions {
  /** Begins after the event with this `seq` rather than with the first. */
  after?: number | undefined;
  /** Milliseconds of silence after which a connection counts as lost. Servers send a keepalive every 10 to 30 s. */
  stallTimeout?: number | undefined;
  /** For how many milliseconds a lost stream tries to reconnect; 0 means never, `Infinity` forever. */
  reconnectTimeout?: number | undefined;
  /** Is called when the stream connects, when it loses its connection, and when it reconnects. */
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

  /** The `seq` of the last event read: another stream of this run can begin `after` it. */
  get cursor(): number | undefined {
    return this.#cursor;
  }

  /** The event that ended the run, after reading the rest. */
  async result(): Promise<TerminalEvent> {
    if (this.#terminal === undefined) await this.finish();
    if (this.#terminal !== undefined) return this.#terminal;
    const message = `The stream of ${this.runId} was closed without a terminal event; poll the run for its state`;
    throw new StreamInterruptedError(message, this.runId, this.#cursor, undefined);
  }

  /**
   * Everything the model said, after reading the rest. What it said again after a server restart counts once. The
   * answer alone is the `output` of `run.completed`.
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
