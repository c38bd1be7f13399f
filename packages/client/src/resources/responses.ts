/** `/v1/responses`, as the OpenAI SDK has it. */
import type { ResponseDeleted, ResponseEvent, ResponseObject, ResponseRequest } from '@talaria/protocol';
import type { Connection } from '../connection.ts';
import { ConnectionError } from '../errors.ts';
import type { Params } from '../params.ts';
import { Reading } from '../reading.ts';
import { parseData, readMessages } from '../sse-messages.ts';
import { type RequestOptions, segment, type Transport } from '../transport.ts';
import { createAnswer } from './answers.ts';
import { ANSWER_TIMEOUT_MS, type SessionOptions } from './session.ts';

export type ResponseParams = Params<ResponseRequest>;

export class Responses {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(params: ResponseParams & { stream: true }, options?: SessionOptions): Promise<ResponseStream>;
  create(params: ResponseParams & { stream?: false }, options?: SessionOptions): Promise<ResponseObject>;
  create(params: ResponseParams, options: SessionOptions = {}): Promise<ResponseStream | ResponseObject> {
    return createAnswer<ResponseObject, ResponseStream>(
      this.#transport,
      '/v1/responses',
      params,
      options,
      (connection) => this.#stream(connection, options),
    );
  }

  /** The events of a response, from the first or after the one with this number. */
  async streamEvents(
    responseId: string,
    { after, ...options }: RequestOptions & { after?: number | undefined } = {},
  ): Promise<ResponseStream> {
    const connection = await this.#connect(responseId, after, options);
    return this.#stream(connection, options, { id: responseId, after: after ?? -1 });
  }

  get(responseId: string, options?: RequestOptions): Promise<ResponseObject> {
    const call = { method: 'GET', path: pathOf(responseId), repeat: true } as const;
    return this.#transport.json<ResponseObject>(call, options);
  }

  delete(responseId: string, options?: RequestOptions): Promise<ResponseDeleted> {
    const call = { method: 'DELETE', path: pathOf(responseId), repeat: true } as const;
    return this.#transport.json<ResponseDeleted>(call, options);
  }

  /** Stops a background response. */
  cancel(responseId: string, options?: RequestOptions): Promise<ResponseObject> {
    const call = { method: 'POST', path: `${pathOf(responseId)}/cancel`, repeat: true } as const;
    return this.#transport.json<ResponseObject>(call, options);
  }

  #stream(connection: Connection, options: RequestOptions, place?: Place): ResponseStream {
    const idleMs = options.timeout ?? ANSWER_TIMEOUT_MS;
    const resume: Resume = (responseId, after) => this.#connect(responseId, after, options);
    return new ResponseStream(readEvents(connection, idleMs, resume, place));
  }

  #connect(responseId: string, after: number | undefined, options: RequestOptions): Promise<Connection> {
    const query = { stream: true, starting_after: after };
    const call = { method: 'GET', path: pathOf(responseId), query, events: true, repeat: true } as const;
    return this.#transport.open(call, options);
  }
}

function pathOf(responseId: string): string {
  return `/v1/responses/${segment(responseId)}`;
}

/** The events of a response. Can be read once. Leaving the loop ends the request. */
export class ResponseStream extends Reading<ResponseEvent> {
  #response: ResponseObject | undefined;

  /** The response in its final state, after reading the rest. */
  async result(): Promise<ResponseObject> {
    await this.finish();
    return this.#response!;
  }

  /** All text of the response, after reading the rest. */
  async text(): Promise<string> {
    const { output } = await this.result();
    return output
      .flatMap((item) => (item.type === 'message' ? item.content : []))
      .map((part) => part.text)
      .join('');
  }

  protected override observe(event: ResponseEvent): void {
    if (isLast(event)) this.#response = event.response;
  }
}

type LastEvent = Extract<
  ResponseEvent,
  { type: 'response.completed' | 'response.incomplete' | 'response.failed' }
>;

function isLast(event: ResponseEvent): event is LastEvent {
  return /^response\.(completed|incomplete|failed)$/.test(event.type);
}

/** Where to resume a stream: which response, and after which event. */
interface Place {
  id: string;
  after: number;
}

type Resume = (responseId: string, after: number) => Promise<Connection>;

/** How many connections may bring nothing new before the stream counts as ended. */
const IDLE_CONNECTIONS_MAX = 5;

/**
 * Every event to the last, each once. A background response keeps running without readers, so a broken stream is
 * resumed. Any other response may end with its reader.
 */
async function* readEvents(
  first: Connection,
  idleMs: number,
  resume: Resume,
  place: Place | undefined,
): AsyncGenerator<ResponseEvent, void, undefined> {
  let connection = first;
  let resumable = place?.id;
  let last = place?.after ?? -1;
  for (let idle = 0; ; idle++) {
    let failure = new ConnectionError('The stream ended before the response did');
    try {
      for await (const { event: name, data } of readMessages(connection, idleMs)) {
        const event = parseData(data) as ResponseEvent;
        if (name === 'error') throw new ConnectionError((event as { message?: string }).message ?? name);
        if ('response' in event && event.response.background === true) resumable = event.response.id;
        const number = event.sequence_number;
        if (resumable !== undefined && number <= last) continue;
        if (resumable !== undefined && number > last + 1) throw new ConnectionError('Events are missing');
        last = number;
        idle = 0;
        yield event;
        if (isLast(event)) return;
      }
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      failure = error;
    }
    if (resumable === undefined || idle === IDLE_CONNECTIONS_MAX) throw failure;
    connection = await resume(resumable, last);
  }
}
