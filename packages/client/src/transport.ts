/**
 * Sends requests: headers, time limits, retries, errors.
 *
 * A request is sent again only when that cannot do harm: when the server said that it had not begun, or when the
 * failure may pass and the request is one that may be carried out twice (`Call.repeat`).
 */
import { abortWith, after, sleep } from './abort.ts';
import { Connection, toFailure } from './connection.ts';
import { toAPIError } from './error-answer.ts';
import { ConnectionError, TimeoutError } from './errors.ts';
import { isTransient, retryDelayMs, wasRefused } from './retry.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds for each try, until the answer is there; of a stream, until it begins. */
  timeout?: number | undefined;
  headers?: Record<string, string> | undefined;
  maxRetries?: number | undefined;
  idempotencyKey?: string | undefined;
  /** Is shown the head of the answer, for what stands in its headers. */
  onResponse?: ((head: ResponseHead) => void) | undefined;
}

export interface ResponseHead {
  status: number;
  headers: Headers;
}

export interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: object | undefined;
  body?: unknown;
  headers?: Record<string, string | undefined>;
  /** The answer is a stream of events, and nothing else is taken for one. */
  events?: boolean;
  /** For calls that usually take longer, or not as long, as others. */
  timeout?: number;
  /** Whether an answer in JSON is one, as far as the client itself goes by it. */
  fits?: (answer: Fields) => boolean;
  /** Whether it may be carried out twice; a question may be asked of the server first. */
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

/** Shorter keys are words, and words stand in messages by chance. */
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
      throw new ConnectionError('The answer of the server is not what was asked for');
    });
  }

  /** The answer when it begins; its body is for the caller to read, who also closes it. */
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
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
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
    // A proxy may show the request it could not pass on.
    return toAPIError(status, headers, apiKey.length < SECRET_MIN ? text : text.replaceAll(apiKey, '***'));
  }
}

async function mayRepeat({ repeat }: Call, error: unknown): Promise<boolean> {
  if (wasRefused(error)) return true;
  if (!isTransient(error)) return false;
  return typeof repeat === 'boolean' ? repeat : repeat();
}

/** The engine's own message would show the value, which may be a secret. */
function addHeaders(headers: Headers, added: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(added)) {
    if (value === undefined) continue;
    try {
      headers.set(name, value);
    } catch {
      const meant = name === 'authorization' ? 'The API key' : `The header '${name}'`;
      throw new TypeError(`${meant} has characters that a header cannot have`);
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
  // There are none, and there will be none.
  if (response.status === NO_CONTENT) return;
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith(EVENTS)) {
    throw new ConnectionError(`The server answered with '${type}' instead of a stream of events`);
  }
}

/** Bytes that are no UTF-8 were damaged on the way and must not become part of an answer. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ConnectionError('The answer of the server is not JSON', { cause: error });
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

/** An id as one segment of a path; what would make another path of it is refused. */
export function segment(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError(`'${id}' is not an id`);
  return encodeURIComponent(id);
}
