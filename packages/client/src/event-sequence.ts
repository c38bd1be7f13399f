/**
 * Decides which event of a run comes next.
 *
 * The cursor is the seq of the last accepted event. An event at or before the cursor is skipped. An event after the
 * next one is an error: the events between were lost.
 *
 * A stream without event numbers can only be read over one connection: on a second connection, or after a cursor,
 * nobody can tell new events from repeated ones.
 */
import { isTerminalEvent, type RunEvent, type SseMessage } from '@talaria/protocol';
import { ConnectionError, StreamInterruptedError } from './errors.ts';
import { parseData } from './sse-messages.ts';

export class EventSequence {
  readonly #runId: string;
  readonly #after: number | undefined;
  #cursor: number | undefined;
  #numbered: boolean | undefined;
  #ended = false;

  constructor(runId: string, after: number | undefined) {
    this.#runId = runId;
    this.#after = after;
    this.#cursor = after;
  }

  get cursor(): number | undefined {
    return this.#cursor;
  }

  /** Undefined until the first event. */
  get numbered(): boolean | undefined {
    return this.#numbered;
  }

  /** The terminal event was accepted, or it is the one at the cursor. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The events in the messages, up to the end of the run or to a message that cannot be accepted. */
  takeAll(messages: readonly SseMessage[], connections: number): { events: RunEvent[]; failure?: unknown } {
    const events: RunEvent[] = [];
    try {
      for (const message of messages) {
        const event = this.#take(message, connections);
        if (event !== undefined) events.push(event);
        if (this.#ended) break;
      }
      return { events };
    } catch (failure) {
      return { events, failure };
    }
  }

  /** The event in the message, or undefined when it is a repetition. */
  #take(message: SseMessage, connections: number): RunEvent | undefined {
    const event = parseData(message.data) as RunEvent;
    const seq = seqOf(message, event);
    if (seq === undefined) this.#takeUnnumbered(connections);
    else {
      this.#numbered = true;
      const next = (this.#cursor ?? -1) + 1;
      if (seq > next) throw new ConnectionError(`Event ${next} of ${this.#runId} was lost on the way`);
      if (seq < next - 1) return undefined;
    }
    this.#ended = isTerminalEvent(event.event);
    if (seq !== undefined && seq === this.#cursor) return undefined;
    this.#cursor = seq;
    return event;
  }

  /** The error for a stream whose remaining events cannot be fetched. */
  interrupted(why: string, cause: unknown): StreamInterruptedError {
    const message = `The stream of ${this.#runId} was lost and cannot be resumed: ${why}. The run is still working on the server; poll it for its state`;
    return new StreamInterruptedError(message, this.#runId, this.#cursor, cause);
  }

  #takeUnnumbered(connections: number): void {
    if (this.#numbered === true) throw new ConnectionError('The stream holds an event without a number');
    this.#numbered = false;
    if (connections > 1 || this.#after !== undefined) throw this.interrupted(NO_NUMBERS, undefined);
  }
}

export const NO_NUMBERS = 'this server does not number its events';

function seqOf({ id }: SseMessage, { seq }: RunEvent): number | undefined {
  if (typeof seq === 'number') return seq;
  return /^\d+$/.test(id) ? Number(id) : undefined;
}
