/** An answer of the model, as the OpenAI SDK asks for it: whole, or as a stream. */
import { createId } from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { toAPIError } from '../error-answer.ts';
import { ConnectionError } from '../errors.ts';
import { parseData, readMessages } from '../sse-messages.ts';
import type { Call, Transport } from '../transport.ts';
import { ANSWER_TIMEOUT_MS, type SessionOptions, sessionHeaders } from './session.ts';

export async function createAnswer<Answer, Stream>(
  transport: Transport,
  path: string,
  params: { readonly stream?: boolean | null | undefined },
  options: SessionOptions,
  toStream: (connection: Connection) => Stream,
): Promise<Answer | Stream> {
  const call: Call = {
    method: 'POST',
    path,
    body: params,
    headers: sessionHeaders(options),
    timeout: ANSWER_TIMEOUT_MS,
    // Not every server honours idempotency keys for streams.
    repeat: params.stream !== true,
  };
  if (params.stream !== true) {
    return transport.json<Answer>(call, { idempotencyKey: createId('idem'), ...options });
  }
  return toStream(await transport.open({ ...call, events: true }, options));
}

/** The chunks to the last. `onNotice` gets what the server says besides. */
export async function* readChunks<Chunk>(
  connection: Connection,
  timeout = ANSWER_TIMEOUT_MS,
  onNotice: (name: string, value: object) => void = () => {},
): AsyncGenerator<Chunk, void, undefined> {
  for await (const { event, data } of readMessages(connection, timeout)) {
    if (data === '[DONE]') return;
    const value = parseData(data);
    if (event.startsWith('hermes.')) onNotice(event, value);
    else if ('error' in value) throw toAPIError(500, connection.response.headers, data);
    else yield value as Chunk;
  }
  throw new ConnectionError('The stream ended before the answer did');
}
