/** Classifies errors of the SDK and the network, with a message that completes a sentence about the server. */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import type { CallFailureKind } from './failures.ts';
import { ANSWER_BROKEN_OFF } from './http-transport.ts';

export const CONNECTION_LOST = 'closed the connection';

const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections',
  ENOTFOUND: 'has a host name that is not known',
  EAI_AGAIN: 'has a host name that cannot be looked up now',
  ETIMEDOUT: 'does not answer',
  ECONNRESET: CONNECTION_LOST,
};
/** Errors of a connection that was never made. */
const NEVER_CONNECTED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];

/** What the parsers that the SDK uses throw, with pages about what they expected. */
const PARSE_ERRORS = ['ZodError', 'SyntaxError'];

/** For a failed call. Only what certainly did not happen may be called refused or unreached. */
export function failureKind(error: unknown): CallFailureKind {
  if (error instanceof ProtocolError && error.code !== ANSWER_BROKEN_OFF) return 'refused';
  if (isTimeout(error)) return 'timeout';
  // A server that does not know the session has not looked at the call.
  if (isSessionGone(error)) return 'unreached';
  // Above 499 it may be a gateway that did not wait for the answer.
  if (error instanceof SdkHttpError && error.status < 500) return 'refused';
  return NEVER_CONNECTED.includes(rootCause(error).code ?? '') ? 'unreached' : 'unknown';
}

/** The server is there and understands, whatever its answer to the request. */
export function isAnswer(error: unknown): boolean {
  if (error instanceof ProtocolError) return error.code !== ANSWER_BROKEN_OFF;
  return error instanceof SdkError && error.code === SdkErrorCode.InvalidResult;
}

export function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

/** Of the first request of the newer protocol, which has a timer of its own. */
export function isProbeTimeout(error: unknown, probeMs: number): boolean {
  return isTimeout(error) && (error as SdkError & { data?: { timeout?: number } }).data?.timeout === probeMs;
}

export function isClosed(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
}

export function isSessionGone(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404;
}

/** Neither masked nor cut. */
export function describeError(error: unknown): string {
  if (error instanceof SdkHttpError) {
    const body = String(error.data.text ?? '')
      .replace(/\s+/g, ' ')
      .trim();
    return `answers HTTP ${error.status} ${error.statusText ?? ''}${body === '' ? '' : `: ${body}`}`;
  }
  if (error instanceof ProtocolError) {
    return error.code === ANSWER_BROKEN_OFF ? 'broke off its answer' : `answered: ${error.message}`;
  }
  const { name, code, message } = rootCause(error);
  const isInvalid = error instanceof SdkError && error.code === SdkErrorCode.InvalidResult;
  if (isInvalid || PARSE_ERRORS.includes(name)) return 'answers with something that MCP does not allow there';
  const words = code === undefined ? undefined : CONNECTION_ERRORS[code];
  return words === undefined ? `failed: ${message}` : `${words} (${code})`;
}

function rootCause(error: unknown): { name: string; code: string | undefined; message: string } {
  const { name, code, message, cause } = error as NodeJS.ErrnoException;
  if (cause instanceof Error) return rootCause(cause);
  return { name, code: typeof code === 'string' ? code : undefined, message: message ?? String(error) };
}
