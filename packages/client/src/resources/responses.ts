/** `/v1/responses`, as the OpenAI SDK has it. */
import {
  createId,
  type ResponseDeleted,
  type ResponseEvent,
  type ResponseObject,
  type ResponseRequest,
} from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { ConnectionError } from '../errors.ts';
import type { Params } from '../params.ts';
import { Reading } from '../reading.ts';
import { parseData, readMessages } from '../sse-messages.ts';
import { type Call, type RequestOptions, segment, type Transport } from '../transport.ts';
import { ANSWER_TIMEOUT_MS, type SessionOptions, sessionHeaders } from './session.ts';

export type ResponseParams = Params<ResponseRequest>;

export class Responses {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(params: ResponseParams & { stream: true }, options?: SessionOptions): Promise<ResponseStream>;
  create(params: ResponseParams & { stream?: false }, options?: SessionOptions): Promise<ResponseObject>;
  async create(
    params: ResponseParams,
    options: SessionOptions = {},
  ): Promise<ResponseStream | ResponseObject> {
    const call: Call = {
      method: 'POST',
      path: '/v1/responses',
      body: params,
      headers: sessionHeaders(options),
      timeout: ANSWER_TIMEOUT_MS,
      // Idempotency keys are honoured for answers in one piece only.
      repeat: params.stream !== true,
    };
    if (params.stream !== true) {
      return this.#transport.json(call, { idempotencyKey: createId('idem'), ...options });
    }
    const connection = await this.#transport.open({ ...call, events: true }, options);
    return new ResponseStream(connection, options.timeout ?? ANSWER_TIMEOUT_MS);
  }

  get(responseId: string, options?: RequestOptions): Promise<ResponseObject> {
    const call = { method: 'GET', path: pathOf(responseId), repeat: true } as const;
    return this.#transport.json<ResponseObject>(call, options);
  }

  delete(responseId: string, options?: RequestOptions): Promise<ResponseDeleted> {
    const call = { method: 'DELETE', path: pathOf(responseId), repeat: true } as const;
    return this.#transport.json<ResponseDeleted>(call, options);
  }
}

function pathOf(responseId: string): string {
  return `/v1/responses/${segment(responseId)}`;
}

/** The events of a response, to be read once. Leaving the loop ends the request. */
export class ResponseStream extends Reading<ResponseEvent> {
  #text = '';
  #response: ResponseObject | undefined;

  constructor(connection: Connection, idleMs: number) {
    super(readEvents(connection, idleMs));
  }

  /** The response as it is at the end, after reading what is left. */
  async result(): Promise<ResponseObject> {
    await this.finish();
    return this.#response!;
  }

  /** All text of the response, after reading what is left. */
  async text(): Promise<string> {
    await this.finish();
    return this.#text;
  }

  protected override observe(event: ResponseEvent): void {
    if (event.type === 'response.output_text.delta') this.#text += event.delta;
    if (isLast(event)) this.#response = event.response;
  }
}

type LastEvent = Extract<ResponseEvent, { type: 'response.completed' | 'response.failed' }>;

function isLast(event: ResponseEvent): event is LastEvent {
  return event.type === 'response.completed' || event.type === 'response.failed';
}

async function* readEvents(
  connection: Connection,
  idleMs: number,
): AsyncGenerator<ResponseEvent, void, undefined> {
  for await (const { data } of readMessages(connection, idleMs)) {
    const event = parseData(data) as ResponseEvent;
    yield event;
    if (isLast(event)) return;
  }
  throw new ConnectionError('The stream ended before the response did');
}
