/** `/v1/chat/completions`, as the OpenAI SDK has it. */
import {
  type ChatApprovalRequest,
  type ChatCompletion,
  type ChatCompletionChunk,
  type ChatRequest,
  createId,
  type ToolProgress,
} from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { toAPIError } from '../error-answer.ts';
import { ConnectionError } from '../errors.ts';
import type { Params } from '../params.ts';
import { Reading } from '../reading.ts';
import { parseData, readMessages } from '../sse-messages.ts';
import type { Call, Transport } from '../transport.ts';
import { ANSWER_TIMEOUT_MS, type SessionOptions, sessionHeaders } from './session.ts';

export type ChatParams = Params<ChatRequest>;

export interface ChatOptions extends SessionOptions {
  /** Gets the tool calls of the agent while its answer streams. */
  onToolProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Gets each pending approval while the answer streams; answer it with `runs.respondApproval`. */
  onApprovalRequest?: ((request: ChatApprovalRequest) => void) | undefined;
}

export class Chat {
  readonly completions: ChatCompletions;

  constructor(transport: Transport) {
    this.completions = new ChatCompletions(transport);
  }
}

export class ChatCompletions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(params: ChatParams & { stream: true }, options?: ChatOptions): Promise<ChatStream>;
  create(params: ChatParams & { stream?: false }, options?: ChatOptions): Promise<ChatCompletion>;
  async create(params: ChatParams, options: ChatOptions = {}): Promise<ChatStream | ChatCompletion> {
    const call: Call = {
      method: 'POST',
      path: '/v1/chat/completions',
      body: params,
      headers: sessionHeaders(options),
      timeout: ANSWER_TIMEOUT_MS,
      // Not every server honours idempotency keys for streams.
      repeat: params.stream !== true,
    };
    if (params.stream !== true) {
      return this.#transport.json(call, { idempotencyKey: createId('idem'), ...options });
    }
    const connection = await this.#transport.open({ ...call, events: true }, options);
    return new ChatStream(connection, options);
  }
}

/** The chunks of an answer. Can be read once. Leaving the loop ends the request. */
export class ChatStream extends Reading<ChatCompletionChunk> {
  #text = '';

  constructor(connection: Connection, options: ChatOptions) {
    super(readChunks(connection, options));
  }

  /** The whole answer, after reading the rest. */
  async text(): Promise<string> {
    await this.finish();
    return this.#text;
  }

  protected override observe({ choices }: ChatCompletionChunk): void {
    this.#text += choices?.[0]?.delta?.content ?? '';
  }
}

async function* readChunks(
  connection: Connection,
  { timeout = ANSWER_TIMEOUT_MS, onToolProgress, onApprovalRequest }: ChatOptions,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  for await (const { event, data } of readMessages(connection, timeout)) {
    if (data === '[DONE]') return;
    const value = parseData(data);
    if (event === 'hermes.tool.progress') onToolProgress?.(value as ToolProgress);
    else if (event === 'hermes.approval.request') onApprovalRequest?.(value as ChatApprovalRequest);
    else if (event.startsWith('hermes.')) continue;
    else if ('error' in value) throw toAPIError(500, connection.response.headers, data);
    else yield value as ChatCompletionChunk;
  }
  throw new ConnectionError('The stream ended before the answer did');
}
