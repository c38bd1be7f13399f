/**
 * The events of a run, each once and in order, over as many connections as needed.
 *
 *   connecting ──▶ reading ──the terminal event──▶ done (or at once: 204 says that nothing follows the cursor)
 *       ▲             │ lost, ended early, silent, damaged, or an event missing
 *       └── waiting ◀─┘
 *
 * Each connection begins after the last event that was yielded. If the server cannot serve the cursor, its error 400
 * ends the stream: there is never a silent gap. A stream that cannot be resumed (the server does not number its events,
 * or does not come back in time) ends with a `StreamInterruptedError`.
 */
import type { RunEvent } from '@talaria/protocol';
import { sleep } from './abort.ts';
import type { Connection } from './connection.ts';
import { type APIError, ConnectionError } from './errors.ts';
import { EventSequence, NO_NUMBERS } from './event-sequence.ts';
import { isTransient, retryAfterMs } from './retry.ts';
import { readMessages } from './sse-messages.ts';
import { NO_CONTENT } from './transport.ts';

/** The state of the connection a stream reads from. */
export type ConnectionChange =
  /** For the first time, or again. */
  | { state: 'open' }
  /** The stream reconnects in `retryInMs`. This is attempt number `attempt` since the last event. */
  | { state: 'lost'; attempt: number; retryInMs: number; error: ConnectionError | APIError };

export interface FollowOptions {
  runId: string;
  /** The cursor to start from. */
  after: number | undefined;
  /** Connects; `again` is true on every connection after the first. */
  connect(cursor: number | undefined, again: boolean): Promise<Connection>;
  /** A connection that is silent for this long counts as lost. */
  stallMs: number;
  /** For how long it tries to reconnect. */
  reconnectMs: number;
  /** The pause before the next attempt, after this many failed ones. */
  waitMs(retries: number): number;
  onConnection?: ((change: ConnectionChange) => void) | undefined;
  signal: AbortSignal | undefined;
}

/** While a run is silent, a long-lived connection is the best sign of health. */
const LASTING_MS = 10_000;

/** The longest pause, whatever the server asks for: it may be back sooner, and its answer may be damaged. */
const WAIT_MAX_MS = 60_000;

/** How often a server may say that a stream is over without having sent one event of it. */
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
      // Older servers close the stream of a stopped run cleanly but without a terminal event.
      if (closed && progress && sequence.numbered === false) return;
      failure = new ConnectionError('The stream ended before the run did');
    } catch (error) {
      signal?.throwIfAborted();
      if (connections === 0 || !isTransient(error)) throw error;
      failure = error;
      closed = false;
    }
    if (sequence.numbered === false) throw sequence.interrupted(NO_NUMBERS, failure);

    // The server says that nothing follows, but no terminal event came. Either it was damaged on the way, or it is the
    // event at the cursor. Asking for the event at the cursor tells which.
    lookBack = closed && !progress;
    // Without a cursor there is no way to tell. Servers that give each event to one reader only behave like this.
    if (lookBack && sequence.cursor === undefined && ++emptyStreams === EMPTY_STREAMS_MAX) {
      throw sequence.interrupted('the server says that the stream is over, but sent no event', failure);
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
