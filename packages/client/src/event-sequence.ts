/**
 * Which event of a run comes next.
 *
 * The cursor is the seq of the last event that was taken. An event at or before it is passed over. One that is not the
 * next after it is an error: what lies between was lost on the way.
 *
 * A server that does not number its events can only be read in one go: on a second connection, or after a cursor, what
 * is new cannot be told from what was there before.
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

  /** The terminal event was taken, or turned out to be the one at the cursor. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The event of the message, or undefined when it is not a new one. */
  take(message: SseMessage, connections: number): RunEvent | undefined {
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

  /** Says that what is left cannot be had any more. */
  interrupted(why: string, cause: unknown): StreamInterruptedError {
    const message = `The stream of ${this.#runId} was lost and cannot be resumed: ${why}. The run goes on; poll it for its state`;
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
