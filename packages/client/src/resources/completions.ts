/** `/v1/completions` and `/v1/embeddings`, as the OpenAI SDK has them. */
import type { Completion, CompletionRequest, EmbeddingList, EmbeddingRequest } from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { isList } from '../pages.ts';
import type { Params } from '../params.ts';
import { Reading } from '../reading.ts';
import type { RequestOptions, Transport } from '../transport.ts';
import { createAnswer, readChunks } from './answers.ts';
import type { SessionOptions } from './session.ts';

export type CompletionParams = Params<CompletionRequest>;
export type EmbeddingParams = Params<EmbeddingRequest>;

export class Completions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(params: CompletionParams & { stream: true }, options?: SessionOptions): Promise<CompletionStream>;
  create(params: CompletionParams & { stream?: false }, options?: SessionOptions): Promise<Completion>;
  create(params: CompletionParams, options: SessionOptions = {}): Promise<CompletionStream | Completion> {
    return createAnswer<Completion, CompletionStream>(
      this.#transport,
      '/v1/completions',
      params,
      options,
      (connection) => new CompletionStream(connection, options.timeout),
    );
  }
}

/** The chunks of a text. Can be read once. Leaving the loop ends the request. */
export class CompletionStream extends Reading<Completion> {
  #text = '';

  constructor(connection: Connection, timeout: number | undefined) {
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
