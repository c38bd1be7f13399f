/** The messages of a response, as they arrive, one by one or in batches. Leaving the loop closes the connection. */
import { createSseDecoder, type SseHandlers, type SseMessage } from '@talaria/protocol';
import type { Connection } from './connection.ts';
import { ConnectionError } from './errors.ts';

export interface MessageHandlers extends Omit<SseHandlers, 'onMessage'> {
  /** Called before the first message. */
  onOpen?: () => void;
}

export async function* readMessages(
  connection: Connection,
  idleMs: number,
  handlers?: MessageHandlers,
): AsyncGenerator<SseMessage, void, undefined> {
  for await (const messages of readMessageBatches(connection, idleMs, handlers)) yield* messages;
}

/** Yields messages that became complete together as one batch: a turn of the event loop per message is expensive. */
export async function* readMessageBatches(
  connection: Connection,
  idleMs: number,
  { onOpen, ...handlers }: MessageHandlers = {},
): AsyncGenerator<SseMessage[], void, undefined> {
  const messages: SseMessage[] = [];
  const decoder = createSseDecoder({ ...handlers, onMessage: (message) => messages.push(message) });
  try {
    onOpen?.();
    for (;;) {
      const bytes = await connection.read(idleMs);
      if (bytes === undefined) return;
      try {
        decoder.feed(bytes);
      } catch (error) {
        throw damaged(error);
      }
      if (messages.length > 0) yield messages.splice(0);
    }
  } finally {
    connection.close();
  }
}

/** The JSON object in a message. */
export function parseData(data: string): object {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (error) {
    throw damaged(error);
  }
  if (typeof value !== 'object' || value === null) throw damaged();
  return value;
}

function damaged(cause?: unknown): ConnectionError {
  return new ConnectionError('The stream holds something that is not an event', { cause });
}
