/**
 * Sends requests: headers, timeouts, retries, errors.
 *
 * A request is retried only when that is safe: the server said that it had not begun, or the failure may pass and the
 * request may be carried out twice (`Call.repeat`).
 */
import { abortWith, after, sleep } from './abort.ts';
import { Connection, toFailure } from './connection.ts';
import { toAPIError } from './error-answer.ts';
import { ConnectionError, TimeoutError } from './errors.ts';
import { isTransient, retryDelayMs, wasRefused } from './retry.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds for each attempt, until the answer has arrived; for a stream, until it begins. */
  timeout?: number | undefined;
  headers?: Record<string, string> | undefined;
  maxRetries?: number | undefined;
  idempotencyKey?: string | undefined;
  /** Gets the response's head, for callers that need its headers. */
  onResponse?: ((head: ResponseHead) => void) | undefined;
}

export interface ResponseHead {
  status: number;
  headers: Headers;
}

/** A stream can be sent only once, so such a request is never repeated. */
export type UploadBody = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: object | undefined;
  body?: unknown;
  /** A body that is not JSON, sent as it is. */
  bytes?: UploadBody | FormData;
  headers?: Record<string, string | undefined>;
  /** Expects an event stream; any other response is an error. */
  events?: boolean;
  /** The timeout of a call that usually takes longer, or less long, than others. */
  timeout?: number;
  /** Checks a JSON answer, as far as the client itself depends on its shape. */
  fits?: (answer: Fields) => boolean;
  /** Whether the request may be carried out twice; answering may take a request to the server. */
  repeat: boolean | (() => Promise<boolean>);
}

export type Fields = Record<string, unknown>;

export interface TransportOptions {
  baseUrl: string;
  apiKey: string | undefined;
  fetch: Fetch;
  headers: Record<string, string>;
  timeout: number | undefined;
  maxRetries: number;
}

const EVENTS = 'text/event-stream';

export const NO_CONTENT = 204;

const TIMEOUT_MS = 60_000;

/** Shorter keys may be ordinary words, which occur in messages by chance. */
const SECRET_MIN = 8;

export class Transport {
  readonly #options: TransportOptions;
  readonly #headers: Headers;

  constructor(options: TransportOptions) {
    this.#options = options;
    const { apiKey, headers } = options;
    this.#headers = new Headers();
    addHeaders(this.#headers, {
      authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}`,
      ...headers,
    });
  }

  /** The answer, as JSON. */
  json<T>(call: Call, options: RequestOptions = {}): Promise<T> {
    const { fits = () => true } = call;
    return this.#withRetries(call, options, async (connection) => {
      const answer = parseJson(await connection.bytes());
      if (isFields(answer) && fits(answer)) return answer as T;
      throw new ConnectionError("The server's answer does not have the expected shape");
    });
  }

  /** The response when its head has arrived. The caller reads its body and closes it. */
  open(call: Call, options: RequestOptions = {}): Promise<Connection> {
    return this.#withRetries(call, options, async (connection) => connection);
  }

  async #withRetries<T>(
    call: Call,
    options: RequestOptions,
    take: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const maxRetries = options.maxRetries ?? this.#options.maxRetries;
    for (let retries = 0; ; retries++) {
      try {
        return await this.#send(call, options, take);
      } catch (error) {
        const delayMs = retryDelayMs(error, retries);
        if (retries >= maxRetries || delayMs === undefined || !(await mayRepeat(call, error))) throw error;
        await sleep(delayMs, options.signal);
      }
    }
  }

  async #send<T>(
    call: Call,
    options: RequestOptions,
    take: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const abort = new AbortController();
    const release = abortWith(options.signal, abort);
    const timeoutMs = options.timeout ?? this.#options.timeout ?? call.timeout ?? TIMEOUT_MS;
    const late = new TimeoutError(`The server did not answer within ${timeoutMs} ms`);
    const cancel = after(timeoutMs, () => abort.abort(late));
    try {
      const { baseUrl, fetch } = this.#options;
      const response = await fetch(baseUrl + call.path + toQuery(call.query), {
        method: call.method,
        headers: this.#headersOf(call, options),
        signal: abort.signal,
        ...bodyOf(call),
      }).catch((error: unknown) => {
        throw toFailure(error, abort.signal);
      });
      options.onResponse?.({ status: response.status, headers: response.headers });
      const connection = new Connection(response, abort, release);
      if (!response.ok) throw await this.#errorOf(connection);
      if (call.events === true) expectEvents(response);
      return await take(connection);
    } catch (error) {
      release();
      abort.abort();
      throw error;
    } finally {
      cancel();
    }
  }

  #headersOf(call: Call, options: RequestOptions): Headers {
    const headers = new Headers(this.#headers);
    addHeaders(headers, {
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      // A form has a content type of its own, with its boundary.
      ...(call.bytes === undefined || call.bytes instanceof FormData
        ? {}
        : { 'content-type': 'application/octet-stream' }),
      ...(call.events === true ? { accept: EVENTS } : {}),
      'idempotency-key': options.idempotencyKey,
      ...call.headers,
      ...options.headers,
    });
    return headers;
  }

  async #errorOf(connection: Connection): Promise<Error> {
    const { status, headers } = connection.response;
    const text = new TextDecoder().decode(await connection.bytes());
    const { apiKey = '' } = this.#options;
    // A proxy may quote the request that it could not pass on.
    return toAPIError(status, headers, apiKey.length < SECRET_MIN ? text : text.replaceAll(apiKey, '***'));
  }
}

/** Runtimes want to be told that a body that streams is sent before the response is read. */
function bodyOf({ body, bytes }: Call): RequestInit {
  if (bytes instanceof ReadableStream) return { body: bytes, duplex: 'half' } as RequestInit;
  if (bytes !== undefined) return { body: bytes as NonNullable<RequestInit['body']> };
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

async function mayRepeat({ repeat, bytes }: Call, error: unknown): Promise<boolean> {
  if (bytes instanceof ReadableStream) return false;
  if (wasRefused(error)) return true;
  if (!isTransient(error)) return false;
  return typeof repeat === 'boolean' ? repeat : repeat();
}

/** The runtime's own message would show the value, which may be a secret. */
function addHeaders(headers: Headers, added: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(added)) {
    if (value === undefined) continue;
    try {
      headers.set(name, value);
    } catch {
      const meant = name === 'authorization' ? 'The API key' : `The header '${name}'`;
      throw new TypeError(`${meant} contains characters that a header cannot hold`);
    }
  }
}

function toQuery(query: object = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function expectEvents(response: Response): void {
  // The server says that there are no events, and that none will come.
  if (response.status === NO_CONTENT) return;
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith(EVENTS)) {
    throw new ConnectionError(`The server answered with '${type}' instead of a stream of events`);
  }
}

/** Bytes that are not UTF-8 were damaged on the way and must not become part of an answer. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ConnectionError("The server's answer is not JSON", { cause: error });
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

/** An id as one path segment. An id that would change the path is rejected. */
export function segment(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError(`'${id}' is not an id`);
  return encodeURIComponent(id);
}
