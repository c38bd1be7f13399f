/** The events of a run. Can be read once. Leaving the loop ends the request; the run continues. */
import { isTerminalEvent, type RunEvent, type TerminalEvent } from '@talaria/protocol';
import { AnswerText } from './answer-text.ts';
import { StreamInterruptedError } from './errors.ts';
import { type FollowOptions, followEvents } from './follow-events.ts';
import { Reading } from './reading.ts';
import type { ReconnectingOptions } from './reconnects.ts';

export interface StreamOptions extends ReconnectingOptions {
  /** Begins after the event with this `seq` rather than with the first. */
  after?: number | undefined;
}

export class RunStream extends Reading<RunEvent> {
  readonly runId: string;
  readonly #batches: AsyncGenerator<RunEvent[], void, undefined>;
  readonly #text = new AnswerText();
  #cursor: number | undefined;
  #terminal: TerminalEvent | undefined;

  constructor(options: FollowOptions) {
    const batches = followEvents(options);
    super(oneByOne(batches));
    this.#batches = batches;
    this.runId = options.runId;
    this.#cursor = options.after;
  }

  /** The `seq` of the last event read: another stream of this run can begin `after` it. */
  get cursor(): number | undefined {
    return this.#cursor;
  }

  /**
   * The same events, in place of the loop over them: those that arrived together as one array, which is never empty. A
   * run of 100 000 events is read several times faster like this.
   */
  batches(): AsyncIterable<readonly RunEvent[]> {
    this.begin();
    return this.#observed();
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

  async *#observed(): AsyncGenerator<readonly RunEvent[], void, undefined> {
    for await (const events of this.#batches) {
      for (const event of events) this.observe(event);
      yield events;
    }
  }

  protected override observe(event: RunEvent): void {
    this.#text.add(event);
    this.#cursor = event.seq;
    if (isTerminalEvent(event.event)) this.#terminal = event as TerminalEvent;
  }
}

async function* oneByOne<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T, void, undefined> {
  for await (const batch of batches) yield* batch;
}
