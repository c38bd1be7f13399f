/**
 * The runs of the key as they change, over as many connections as needed. Each connection begins at the cursor of the
 * last change that was yielded, so nothing is missed. If the server cannot serve the cursor, its error 400 ends the feed:
 * list the runs, and open another feed. Leaving the loop ends the request.
 */
import type { RunChanged } from '@talaria/protocol';
import type { Connection } from './connection.ts';
import { type APIError, ConnectionError } from './errors.ts';
import { Reading } from './reading.ts';
import { type ReconnectingOptions, type ReconnectOptions, Reconnects } from './reconnects.ts';
import { isTransient } from './retry.ts';
import { parseData, readMessages } from './sse-messages.ts';

export interface FeedOptions extends ReconnectingOptions {
  /** The `cursor` of an earlier feed: begins with every run that has changed since. Without it the feed begins now. */
  after?: string | undefined;
}

export interface FollowFeedOptions extends ReconnectOptions {
  after: string | undefined;
  /** Connects; `again` is true on every connection after the first. */
  connect(cursor: string | undefined, again: boolean): Promise<Connection>;
  /** A connection that is silent for this long counts as lost. */
  stallMs: number;
}

/** A comment of the server with this beginning names the cursor of the feed's beginning. */
const CURSOR = 'cursor ';

export class RunFeed extends Reading<RunChanged> {
  readonly #position: Position;

  constructor(options: FollowFeedOptions) {
    const position = new Position(options.after);
    super(follow(options, position));
    this.#position = position;
  }

  /** Where another feed continues: after the last change that was read. Undefined before the server has answered. */
  get cursor(): string | undefined {
    return this.#position.cursor;
  }

  protected override observe(): void {}
}

class Position {
  cursor: string | undefined;

  constructor(cursor: string | undefined) {
    this.cursor = cursor;
  }
}

async function* follow(
  options: FollowFeedOptions,
  position: Position,
): AsyncGenerator<RunChanged, void, undefined> {
  const reconnects = new Reconnects(options);
  for (let connections = 0; ; ) {
    let progress = false;
    let failure: ConnectionError | APIError;
    try {
      const connection = await options.connect(position.cursor, connections > 0);
      connections++;
      reconnects.opened();
      const messages = readMessages(connection, options.stallMs, {
        onOpen: () => options.onConnection?.({ state: 'open' }),
        onComment: (text) => {
          if (text.startsWith(CURSOR)) position.cursor ??= text.slice(CURSOR.length);
        },
        onRetry: (ms) => reconnects.asked(ms),
      });
      for await (const { id, data } of messages) {
        const change = parseData(data) as RunChanged;
        progress = true;
        if (id !== '') position.cursor = id;
        // A later version of the server may send events that this client does not know.
        if (change.event !== 'run.changed') continue;
        yield change;
      }
      failure = new ConnectionError('The server has ended the feed');
    } catch (error) {
      options.signal?.throwIfAborted();
      if (connections === 0 || !isTransient(error)) throw error;
      failure = error;
    }
    if (!(await reconnects.wait(failure, progress))) throw failure;
  }
}
