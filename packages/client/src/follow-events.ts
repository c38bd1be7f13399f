/**
 * The events of a run over as many connections as it takes, each once and in order.
 *
 *   connecting ──▶ reading ──the terminal event──▶ done (or at once: 204 says that nothing follows the cursor)
 *       ▲             │ lost, ended early, silent, damaged, or an event missing
 *       └── waiting ◀─┘
 *
 * Each connection begins after the last event that was given out. A cursor the server cannot serve is its error 400 and
 * ends the stream: there is never a silent gap. What cannot be resumed, because the server does not number its events
 * or does not come back in time, ends with a `StreamInterruptedError`.
 */
import type { RunEvent } from '@talaria/protocol';
import { sleep } from './abort.ts';
import type { Connection } from './connection.ts';
import { type APIError, ConnectionError } from './errors.ts';
import { EventSequence, NO_NUMBERS } from './event-sequence.ts';
import { isTransient, retryAfterMs } from './retry.ts';
import { readMessages } from './sse-messages.ts';
import { NO_CONTENT } from './transport.ts';

/** What becomes of the connection that a stream reads from. */
export type ConnectionChange =
  /** For the first time, or again. */
  | { state: 'open' }
  /** The stream tries to come back in `retryInMs`, for the `attempt`th time since it was last well. */
  | { state: 'lost'; attempt: number; retryInMs: number; error: ConnectionError | APIError };

export interface FollowOptions {
  runId: string;
  /** The cursor to begin with. */
  after: number | undefined;
  /** Connects; `again` says that the stream was connected before. */
  connect(cursor: number | undefined, again: boolean): Promise<Connection>;
  /** Silence after which a connection counts as lost. */
  stallMs: number;
  /** How long it tries to come back. */
  reconnectMs: number;
  /** The pause before the next try, after so many that failed. */
  waitMs(retries: number): number;
  onConnection?: ((change: ConnectionChange) => void) | undefined;
  signal: AbortSignal | undefined;
}

/** While a run is silent, the best a connection can do is to last. */
const LASTING_MS = 10_000;

/** However long a server asks to be left alone: it may be back sooner, and what it said may be damaged. */
const WAIT_MAX_MS = 60_000;

/** How often a server may say that a stream is over of which it has not sent a single event. */
const EMPTY_STREAMS_MAX = 3;

export async function* followEvents(options: FollowOptions): AsyncGenerator<RunEvent, void, undefined> {
  const { signal, reconnectMs } = options;
  const sequence = new EventSequence(options.runId, options.after);
  let connections = 0;
  let emptyStreams = 0;
  let lookBack = false;
  let retries = 0;
  let retryMs = 0;
  let goodAt = performance.now();

  for (;;) {
    const from = lookBack ? before(sequence.cursor) : sequence.cursor;
    let openedAt = Number.POSITIVE_INFINITY;
    let progress = false;
    let closed = false;
    let failure: ConnectionError | APIError;
    try {
      const connection = await options.connect(from, connections > 0);
      connections++;
      // The cursor is at the terminal event.
      if (connection.response.status === NO_CONTENT) {
        connection.close();
        return;
      }
      openedAt = performance.now();
      const messages = readMessages(connection, options.stallMs, {
        onOpen: () => options.onConnection?.({ state: 'open' }),
        onComment: (text) => {
          closed ||= text === 'stream closed';
        },
        onRetry: (ms) => {
          retryMs = ms;
        },
      });
      for await (const message of messages) {
        const event = sequence.take(message, connections);
        progress ||= event !== undefined;
        if (event !== undefined) yield event;
        if (sequence.ended) return;
      }
      // Older servers close the stream of a run that was stopped in good order, but without a terminal event.
      if (closed && progress && sequence.numbered === false) return;
      failure = new ConnectionError('The stream ended before the run did');
    } catch (error) {
      signal?.throwIfAborted();
      if (connections === 0 || !isTransient(error)) throw error;
      failure = error;
      closed = false;
    }
    if (sequence.numbered === false) throw sequence.interrupted(NO_NUMBERS, failure);

    // The server is through, but the terminal event has not come. Either it was damaged beyond recognition on the way,
    // or it is the one at the cursor: asking for that one too tells.
    lookBack = closed && !progress;
    // Without a cursor there is nothing to tell it by. Servers that give an event to one reader only do this.
    if (lookBack && sequence.cursor === undefined && ++emptyStreams === EMPTY_STREAMS_MAX) {
      throw sequence.interrupted('the server says that it is over, and sends no event', failure);
    }

    if (progress || performance.now() - openedAt > LASTING_MS) {
      retries = 0;
      goodAt = performance.now();
    }
    const askedMs = Math.max(retryMs, retryAfterMs(failure) ?? options.waitMs(retries));
    const delayMs = Math.min(askedMs, WAIT_MAX_MS);
    if (performance.now() + delayMs - goodAt > reconnectMs) {
      throw sequence.interrupted(`the server could not be reached again within ${reconnectMs} ms`, failure);
    }
    retries++;
    options.onConnection?.({ state: 'lost', attempt: retries, retryInMs: delayMs, error: failure });
    await sleep(delayMs, signal);
  }
}

function before(cursor: number | undefined): number | undefined {
  return cursor === undefined || cursor === 0 ? undefined : cursor - 1;
}
