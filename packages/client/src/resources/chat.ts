/** `/v1/chat/completions`, as the OpenAI SDK has it. */
import type {
  ChatApprovalRequest,
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  ToolProgress,
} from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import type { Params } from '../params.ts';
import { Reading } from '../reading.ts';
import type { Transport } from '../transport.ts';
import { createAnswer, readChunks } from './answers.ts';
import type { SessionOptions } from './session.ts';

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
  create(params: ChatParams, options: ChatOptions = {}): Promise<ChatStream | ChatCompletion> {
    return createAnswer<ChatCompletion, ChatStream>(
      this.#transport,
      '/v1/chat/completions',
      params,
      options,
      (connection) => new ChatStream(connection, options),
    );
  }
}

/** The chunks of an answer. Can be read once. Leaving the loop ends the request. */
export class ChatStream extends Reading<ChatCompletionChunk> {
  #text = '';

  constructor(connection: Connection, { timeout, onToolProgress, onApprovalRequest }: ChatOptions) {
    const onNotice = (name: string, value: object): void => {
      if (name === 'hermes.tool.progress') onToolProgress?.(value as ToolProgress);
      else if (name === 'hermes.approval.request') onApprovalRequest?.(value as ChatApprovalRequest);
    };
    super(readChunks(connection, timeout, onNotice));
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
