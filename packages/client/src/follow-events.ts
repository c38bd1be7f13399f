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
import type { Connection } from './connection.ts';
import { type APIError, ConnectionError } from './errors.ts';
import { EventSequence, NO_NUMBERS } from './event-sequence.ts';
import { type ReconnectOptions, Reconnects } from './reconnects.ts';
import { isTransient } from './retry.ts';
import { readMessageBatches } from './sse-messages.ts';
import { NO_CONTENT } from './transport.ts';

export interface FollowOptions extends ReconnectOptions {
  runId: string;
  /** The cursor to start from. */
  after: number | undefined;
  /** Connects; `again` is true on every connection after the first. */
  connect(cursor: number | undefined, again: boolean): Promise<Connection>;
  /** A connection that is silent for this long counts as lost. */
  stallMs: number;
}

/** How often a server may say that a stream is over without having sent one event of it. */
const EMPTY_STREAMS_MAX = 3;

/** Yields the events that arrived together as one batch, which is never empty. */
export async function* followEvents(options: FollowOptions): AsyncGenerator<RunEvent[], void, undefined> {
  const { signal, reconnectMs } = options;
  const sequence = new EventSequence(options.runId, options.after);
  let connections = 0;
  let emptyStreams = 0;
  let lookBack = false;
  const reconnects = new Reconnects(options);

  for (;;) {
    const from = lookBack ? before(sequence.cursor) : sequence.cursor;
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
      reconnects.opened();
      const messages = readMessageBatches(connection, options.stallMs, {
        onOpen: () => options.onConnection?.({ state: 'open' }),
        onComment: (text) => {
          closed ||= text === 'stream closed';
        },
        onRetry: (ms) => reconnects.asked(ms),
      });
      for await (const batch of messages) {
        const { events, failure: refused } = sequence.takeAll(batch, connections);
        progress ||= events.length > 0;
        if (events.length > 0) yield events;
        if (sequence.ended) return;
        if (refused !== undefined) throw refused;
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

    if (!(await reconnects.wait(failure, progress))) {
      throw sequence.interrupted(`the server could not be reached again within ${reconnectMs} ms`, failure);
    }
  }
}

function before(cursor: number | undefined): number | undefined {
  return cursor === undefined || cursor === 0 ? undefined : cursor - 1;
}
