/** One turn of a session as a stream: `/api/sessions/{id}/chat/stream`. */
import type { SessionChatEvent } from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { toAPIError } from '../error-answer.ts';
import { ConnectionError } from '../errors.ts';
import { Reading } from '../reading.ts';
import { parseData, readMessages } from '../sse-messages.ts';

/**
 * The events of the turn. Can be read once. Leaving the loop ends the request; the server then stops the run after a
 * grace period.
 */
export class SessionChatStream extends Reading<SessionChatEvent> {
  #text = '';

  constructor(connection: Connection, timeout: number) {
    super(readEvents(connection, timeout));
  }

  /** The whole answer, after reading the rest. */
  async text(): Promise<string> {
    await this.finish();
    return this.#text;
  }

  protected override observe(event: SessionChatEvent): void {
    if (event.event === 'assistant.completed') this.#text = event.content;
  }
}

async function* readEvents(
  connection: Connection,
  timeout: number,
): AsyncGenerator<SessionChatEvent, void, undefined> {
  for await (const { event, data } of readMessages(connection, timeout)) {
    const fields = parseData(data) as { message?: unknown; code?: unknown };
    if (event === 'error') {
      const { message, code } = fields;
      throw toAPIError(500, connection.response.headers, JSON.stringify({ error: { message, code } }));
    }
    yield { event, ...fields } as SessionChatEvent;
    if (event === 'done') return;
  }
  throw new ConnectionError('The stream ended before the answer did');
}
