/** `/v1/completions` and `/v1/embeddings`, as the OpenAI SDK has them. */
import {
  type Completion,
  type CompletionRequest,
  createId,
  type EmbeddingList,
  type EmbeddingRequest,
} from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { toAPIError } from '../error-answer.ts';
import { ConnectionError } from '../errors.ts';
import { isList } from '../pages.ts';
import type { Params } from '../params.ts';
import { Reading } from '../reading.ts';
import { parseData, readMessages } from '../sse-messages.ts';
import type { Call, RequestOptions, Transport } from '../transport.ts';
import { ANSWER_TIMEOUT_MS, type SessionOptions, sessionHeaders } from './session.ts';

export type CompletionParams = Params<CompletionRequest>;
export type EmbeddingParams = Params<EmbeddingRequest>;

export class Completions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(params: CompletionParams & { stream: true }, options?: SessionOptions): Promise<CompletionStream>;
  create(params: CompletionParams & { stream?: false }, options?: SessionOptions): Promise<Completion>;
  async create(
    params: CompletionParams,
    options: SessionOptions = {},
  ): Promise<CompletionStream | Completion> {
    const call: Call = {
      method: 'POST',
      path: '/v1/completions',
      body: params,
      headers: sessionHeaders(options),
      timeout: ANSWER_TIMEOUT_MS,
      repeat: params.stream !== true,
    };
    if (params.stream !== true) {
      return this.#transport.json(call, { idempotencyKey: createId('idem'), ...options });
    }
    const connection = await this.#transport.open({ ...call, events: true }, options);
    return new CompletionStream(connection, options.timeout ?? ANSWER_TIMEOUT_MS);
  }
}

/** The chunks of a text. Can be read once. Leaving the loop ends the request. */
export class CompletionStream extends Reading<Completion> {
  #text = '';

  constructor(connection: Connection, timeout: number) {
    super(readChunks(connection, timeout));
  }

  /** The whole text, after reading the rest. */
  async text(): Promise<string> {
    await this.finish();
    return this.#text;
  }

  protected override observe({ choices }: Completion): void {
    this.#text += choices[0]?.text ?? '';
  }
}

async function* readChunks(
  connection: Connection,
  timeout: number,
): AsyncGenerator<Completion, void, undefined> {
  for await (const { data } of readMessages(connection, timeout)) {
    if (data === '[DONE]') return;
    const value = parseData(data);
    if ('error' in value) throw toAPIError(500, connection.response.headers, data);
    yield value as Completion;
  }
  throw new ConnectionError('The stream ended before the answer did');
}

export class Embeddings {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(params: EmbeddingParams, options?: RequestOptions): Promise<EmbeddingList> {
    const call = {
      method: 'POST',
      path: '/v1/embeddings',
      body: params,
      fits: isList,
      repeat: true,
    } as const;
    return this.#transport.json(call, options);
  }
}
