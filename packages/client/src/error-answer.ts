/**
 * Turns an error response into an error object. Servers use three envelopes: `{"error": {"message", "type", "param",
 * "code"}}`, `{"error": "text"}`, and plain text, which is also what proxies send.
 */
import {
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  type ErrorAnswer,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
} from './errors.ts';

const CLASSES: Record<number, new (answer: ErrorAnswer) => APIError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  429: RateLimitError,
};

/** Longer text is probably a web page, not a message. The error's `body` has all of it. */
const MESSAGE_MAX = 500;

export function toAPIError(status: number, headers: Headers, text: string): APIError {
  const ErrorClass = CLASSES[status] ?? (status >= 500 ? ServerError : APIError);
  const body = parseBody(text);
  return new ErrorClass({ status, headers, body, ...readEnvelope(body) });
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function readEnvelope(body: unknown): Pick<ErrorAnswer, 'message' | 'code' | 'type' | 'param'> {
  const inner = isObject(body) && 'error' in body ? body.error : body;
  const fields = isObject(inner) ? inner : { message: inner };
  return {
    message: textOr(fields.message, 'The server answered with an error'),
    code: textOr(fields.code, null),
    type: textOr(fields.type, null),
    param: textOr(fields.param, null),
  };
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  if (typeof value !== 'string' || value.trim() === '' || value.length > MESSAGE_MAX) return otherwise;
  return /^\s*</.test(value) ? otherwise : value.trim();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
