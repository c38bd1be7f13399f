/**
 * Turns anything that a provider call can throw into a `ModelError`.
 *
 * The causes are checked in this order: the run was aborted; the provider answered with an error (an HTTP status, or an
 * object inside the stream); the connection failed; the answer could not be read. It checks shapes instead of classes,
 * so that this file loads no SDK.
 *
 * The message is for the people who watch the run: the provider's own message, on one line, bounded, without secrets.
 * An SDK error carries the whole request (prompt, headers), so it is never kept as the `cause`; a small summary is.
 */

import { Secrets } from '../../secrets/secrets.ts';
import { ModelError, type ModelErrorCode } from './model.ts';

const MAX_MESSAGE_CHARS = 500;

/** Connection failures that a retry may get past. */
const NETWORK_CODES =
  /^(ECONN|ENET|EHOST|ENOTFOUND$|EAI_|ETIMEDOUT$|EPIPE$|UND_ERR_|ERR_STREAM_PREMATURE_CLOSE$|ERR_HTTP2_)/;
/** A certificate or protocol mismatch: a configuration problem that no retry solves. */
const TLS_CODES =
  /^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY|DECRYPT)_|HOSTNAME_MISMATCH$)/;

const CONTEXT_OVERFLOW =
  /context[_ ](length|window|size)|maximum context|prompt is too long|input is too long|too many (input )?tokens|token count[^.]*exceeds|exceeds?[^.]*(token limit|maximum number of tokens)|reduce the length/i;
const QUOTA_EXHAUSTED =
  /insufficient[_ ]quota|exceeded your current quota|billing_hard_limit|credit balance/i;
/** How servers say that they have no such path, in contrast to no such model. */
const NO_SUCH_PATH = /^((page|file|route|path) )?not found\.?$/i;
const BAD_KEY = /api[_ ]key[_ ](not valid|invalid|expired)|invalid[_ ]api[_ ]key|incorrect api key/i;

const UNREADABLE = 'The model provider sent a response that could not be read.';

export interface ErrorContext {
  signal?: AbortSignal | undefined;
  secrets?: Secrets | undefined;
}

export function toModelError(
  error: unknown,
  { signal, secrets = new Secrets([]) }: ErrorContext = {},
): ModelError {
  if (error instanceof ModelError) return error;
  const make = (
    code: ModelErrorCode,
    message: string,
    retryable: boolean,
    more: { retryAfterMs?: number | undefined; isWrongUrl?: boolean } = {},
  ) =>
    new ModelError(code, toShownMessage(message, secrets), {
      retryable,
      ...more,
      cause: summarize(error),
    });

  // Not a failure of the provider: the code that aborted knows why. Never retryable, so that no loop repeats it by mistake.
  if (signal?.aborted || isAbort(error))
    return make('provider_error', 'The model request was aborted.', false);

  const answer = readAnswer(error);
  if (answer) {
    const verdict = judge(answer);
    const { isWrongUrl = false } = answer;
    return make(verdict.code, answer.message, verdict.retryable, {
      retryAfterMs: verdict.retryAfterMs,
      isWrongUrl,
    });
  }
  const page = readPage(error);
  if (page !== undefined) return make('provider_unavailable', page, false, { isWrongUrl: true });

  const code = systemCode(error);
  if (code && TLS_CODES.test(code)) {
    return make(
      'provider_unavailable',
      `No secure connection to the model provider${at(error)} (${code}).`,
      false,
    );
  }
  if (code && NETWORK_CODES.test(code)) {
    const what = hasAnswered(error)
      ? 'Lost the connection to the model provider'
      : 'Cannot reach the model provider';
    return make('provider_unavailable', `${what}${at(error)} (${code}).`, true);
  }
  if (isUnreadable(error)) {
    return make('provider_error', UNREADABLE, true);
  }
  return make('provider_error', error instanceof Error ? error.message : String(error), false);
}

/** The stream ended cleanly but before the model was done, as when a proxy dies. */
export function incompleteStreamError(): ModelError {
  return new ModelError(
    'provider_unavailable',
    'The model provider ended the response before it was complete.',
    {
      retryable: true,
    },
  );
}

/** The provider answered, but not in its own format. */
export function unreadableAnswerError(): ModelError {
  return new ModelError('provider_error', UNREADABLE, { retryable: true });
}

/** The provider's error message. */
interface Answer {
  status: number | undefined;
  message: string;
  /** The provider's own names for the error, joined: `code`, `type`, `status`. */
  names: string;
  retryAfterMs: number | undefined;
  isWrongUrl?: boolean;
}

function judge(answer: Answer): {
  code: ModelErrorCode;
  retryable: boolean;
  retryAfterMs?: number | undefined;
} {
  const { status, names, retryAfterMs } = answer;
  const said = `${names} ${answer.message}`;
  if (status === 401 || status === 403) return { code: 'provider_auth', retryable: false };
  if (status === 402 || (status === 429 && QUOTA_EXHAUSTED.test(said))) {
    return { code: 'provider_rate_limit', retryable: false };
  }
  if (status === 429) return { code: 'provider_rate_limit', retryable: true, retryAfterMs };
  if (status === 413) return { code: 'context_overflow', retryable: false };
  // Some servers answer 500 to an overlong prompt; a retry would not make it shorter.
  if (CONTEXT_OVERFLOW.test(said)) return { code: 'context_overflow', retryable: false };
  if (status === undefined) return { code: 'provider_error', retryable: false };
  if (status === 408 || status === 409 || status >= 500) {
    return { code: 'provider_unavailable', retryable: true, retryAfterMs };
  }
  if (BAD_KEY.test(said)) return { code: 'provider_auth', retryable: false };
  if (/content_(filter|policy)/i.test(names)) return { code: 'content_filtered', retryable: false };
  if (status === 400 || status === 404 || status === 422)
    return { code: 'provider_bad_request', retryable: false };
  return { code: 'provider_error', retryable: false };
}

/** Reads an HTTP error of the SDK, or an error object out of a stream; undefined when it is neither. */
function readAnswer(error: unknown): Answer | undefined {
  if (!isRecord(error)) return undefined;
  const httpStatus = typeof error.statusCode === 'number' ? error.statusCode : undefined;
  if (error instanceof Error) {
    // With a 2xx status the answer was fine, but reading it failed. Redirects are not followed, so they are errors.
    if (httpStatus !== undefined && httpStatus >= 300) {
      const text = typeof error.responseBody === 'string' ? error.responseBody : '';
      const body = parseJson(text);
      const said = messageIn(body);
      const url = httpStatus === 404 && isNoSuchPath(said) ? endpointUrl(error) : undefined;
      return {
        status: httpStatus,
        message:
          url === undefined
            ? (said ?? unexplained(httpStatus, plainText(text)))
            : noSuchPath(url, said ?? plainText(text)),
        names: namesIn(body),
        isWrongUrl: url !== undefined,
        retryAfterMs: retryAfterMs(error.responseHeaders) ?? retryDelayMs(body),
      };
    }
    // A chunk that fits no schema may still be an error object in a shape of its own.
    const value = isRecord(error.value) && 'error' in error.value ? error.value : undefined;
    return value && readStreamAnswer(value);
  }
  return readStreamAnswer(error);
}

function readStreamAnswer(error: Record<string, unknown>): Answer | undefined {
  const names = namesIn(error);
  const inner = isRecord(error.error) ? error.error : {};
  const numbers = [error.statusCode, error.status, error.code, inner.status, inner.code];
  const given = numbers.find((value) => typeof value === 'number' && value >= 400 && value < 600);
  const status = typeof given === 'number' ? given : statusOfNames(names);
  const unnamed =
    status === undefined ? undefined : `The model provider reported an error (status ${status}).`;
  const message = messageIn(error) ?? unnamed;
  return message === undefined ? undefined : { status, message, names, retryAfterMs: undefined };
}

/** Inside a stream there is no status, only a name. */
function statusOfNames(names: string): number | undefined {
  if (/rate_limit|insufficient_quota|RESOURCE_EXHAUSTED/i.test(names)) return 429;
  if (/authentication|permission|invalid_api_key|UNAUTHENTICATED/i.test(names)) return 401;
  if (/overloaded|server_error|internal|api_error|unavailable|timeout|bad_gateway/i.test(names)) return 503;
  if (/invalid_request|not_found|INVALID_ARGUMENT/i.test(names)) return 400;
  return undefined;
}

/** The places where providers put the text: `error.message`, `error`, `message`, `detail`, `[0].error.message`. */
function messageIn(body: unknown): string | undefined {
  if (Array.isArray(body)) return messageIn(body[0]);
  if (!isRecord(body)) return undefined;
  if (isRecord(body.error)) return messageIn(body.error);
  for (const value of [body.message, body.error, body.detail, body.msg]) {
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return Array.isArray(body.detail) ? messageIn(body.detail[0]) : undefined;
}

function namesIn(body: unknown): string {
  if (Array.isArray(body)) return namesIn(body[0]);
  if (!isRecord(body)) return '';
  const own = [body.code, body.type, body.status].filter((value) => typeof value === 'string');
  const inner = [body.error, body.innererror, body.data].map(namesIn).filter(Boolean);
  return [...own, ...inner].join(' ');
}

function unexplained(status: number, text: string | undefined): string {
  const answered = `The model provider answered with HTTP status ${status}`;
  return text === undefined ? `${answered}.` : `${answered}: ${text}`;
}

/** No such model is a message in JSON; no such path is any other text, or these words. */
function isNoSuchPath(said: string | undefined): boolean {
  return said === undefined || NO_SUCH_PATH.test(said.trim());
}

function noSuchPath(url: URL, text: string | undefined): string {
  const says = text === undefined ? '' : ` It says: ${text}`;
  return `The model provider answered with HTTP status 404 ${askAbout(url)}${says}`;
}

/** A short body that is not markup is shown unchanged. */
function plainText(body: string): string | undefined {
  const text = body.trim();
  return text && !text.startsWith('<') && !text.startsWith('{') ? text : undefined;
}

function retryAfterMs(headers: unknown): number | undefined {
  if (!isRecord(headers)) return undefined;
  const milliseconds = Number.parseFloat(String(headers['retry-after-ms'] ?? ''));
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds);
  const value = String(headers['retry-after'] ?? '').trim();
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000);
  // Date.parse reads a bare number as a year.
  const date = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Gemini sends no header; it puts `{"retryDelay": "34s"}` into the details of the error. */
function retryDelayMs(body: unknown): number | undefined {
  const error = isRecord(body) ? body.error : undefined;
  const details = isRecord(error) && Array.isArray(error.details) ? error.details : [];
  for (const detail of details) {
    const seconds = isRecord(detail) ? /^(\d+(?:\.\d+)?)s$/.exec(String(detail.retryDelay))?.[1] : undefined;
    if (seconds) return Math.ceil(Number(seconds) * 1000);
  }
  return undefined;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
}

/** The first system error code in the chain of causes. */
function systemCode(error: unknown): string | undefined {
  for (let current = error, depth = 0; isRecord(current) && depth < 8; current = current.cause, depth++) {
    if (
      typeof current.code === 'string' &&
      (NETWORK_CODES.test(current.code) || TLS_CODES.test(current.code))
    ) {
      return current.code;
    }
    // All addresses of a host failed; the first failure is reported.
    if (current instanceof AggregateError) {
      const inner = systemCode(current.errors[0]);
      if (inner) return inner;
    }
  }
  return undefined;
}

/** ` at host:port`, without user, path or query, which may hold a secret. */
function at(error: unknown): string {
  const url = isRecord(error) && typeof error.url === 'string' ? URL.parse(error.url) : null;
  return url ? ` at ${url.host}` : '';
}

/** The URL of an endpoint of OPENAI_BASE_URL, as called. */
function endpointUrl(error: object): URL | undefined {
  const url = 'url' in error && typeof error.url === 'string' ? URL.parse(error.url) : null;
  return url?.pathname.endsWith('/chat/completions') ? url : undefined;
}

/** Shows the URL without user and query, which may hold a secret. */
function askAbout({ origin, pathname }: URL): string {
  const question = /\/v\d/.test(pathname)
    ? 'is OPENAI_BASE_URL right?'
    : 'is /v1 missing in OPENAI_BASE_URL?';
  return `at ${origin}${pathname}; ${question}`;
}

/** The message for a web page with a status of success, whose beginning our own reader keeps. */
function readPage(error: unknown): string | undefined {
  if (!isRecord(error) || !isRecord(error.responseHeaders) || !isMarkup(error.responseBody)) return undefined;
  const url = endpointUrl(error);
  if (url === undefined) return undefined;
  const [type] = String(error.responseHeaders['content-type'] ?? 'a web page').split(';');
  return `The model provider sent ${type} instead of a model's answer ${askAbout(url)}`;
}

/** By its first character: neither a stream nor JSON begins so. */
export function isMarkup(text: unknown): boolean {
  return typeof text === 'string' && text.trimStart().startsWith('<');
}

/** Both the SDK and our own reader keep the status of the response that they were reading. */
function hasAnswered(error: unknown): boolean {
  return isRecord(error) && error.statusCode !== undefined;
}

/** An answer in a format of its own, an error without words, or no HTTP at all. */
function isUnreadable(error: unknown): boolean {
  if (!(error instanceof Error)) return isRecord(error);
  return (
    /JSONParseError|TypeValidationError|InvalidResponseData|EmptyResponseBody/.test(error.name) ||
    error.message === 'Failed to process successful response' ||
    (isRecord(error.cause) && /^HPE_/.test(String(error.cause.code)))
  );
}

function summarize(error: unknown): unknown {
  if (!isRecord(error)) return undefined;
  const status = typeof error.statusCode === 'number' ? error.statusCode : undefined;
  return { name: error instanceof Error ? error.name : 'object', status, code: systemCode(error) };
}

function toShownMessage(message: string, secrets: Secrets): string {
  const line = secrets.mask(message).replace(/\s+/g, ' ').trim();
  return line.length > MAX_MESSAGE_CHARS ? `${line.slice(0, MAX_MESSAGE_CHARS - 1)}…` : line;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
