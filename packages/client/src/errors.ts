/**
 * The errors that a call of this client can throw.
 *
 *   TalariaClientError
 *   ├─ ConnectionError             no answer, or one that broke off or cannot be read
 *   │  ├─ TimeoutError             it took too long
 *   │  └─ StreamInterruptedError   events that this stream cannot get any more
 *   ├─ InvalidOutputError          a run completed with an output that its schema does not take
 *   └─ APIError                    the server answered with an error; a class per status
 *
 * A call that was aborted through its signal ends with that signal's reason instead. None of these holds the API key.
 */
import type { ApiErrorCode, Run } from '@talaria/protocol';

export class TalariaClientError extends Error {
  override readonly name: string = 'TalariaClientError';
}

export class ConnectionError extends TalariaClientError {
  override readonly name: string = 'ConnectionError';
}

export class TimeoutError extends ConnectionError {
  override readonly name: string = 'TimeoutError';
}

export class StreamInterruptedError extends ConnectionError {
  override readonly name: string = 'StreamInterruptedError';
  readonly runId: string;
  /**
   * The `seq` of the last event the stream yielded; `undefined` when there was none or the server does not number its
   * events.
   */
  readonly cursor: number | undefined;

  constructor(message: string, runId: string, cursor: number | undefined, cause: unknown) {
    super(message, { cause });
    this.runId = runId;
    this.cursor = cursor;
  }
}

export class InvalidOutputError extends TalariaClientError {
  override readonly name: string = 'InvalidOutputError';
  readonly run: Run;

  constructor(run: Run, problem: string) {
    super(`The output of ${run.run_id} does not satisfy its schema: ${problem}`);
    this.run = run;
  }
}

/** The codes of the protocol, and any other code that another server sends. */
export type ErrorCode = ApiErrorCode | (string & {});

export interface ErrorAnswer {
  message: string;
  status: number;
  code: ErrorCode | null;
  type: string | null;
  param: string | null;
  headers: Headers;
  body: unknown;
}

export class APIError extends TalariaClientError {
  override readonly name: string = 'APIError';
  readonly status: number;
  readonly code: ErrorCode | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly headers: Headers;
  /** The id that the server or a proxy gave this request, to find it in their logs. */
  readonly requestId: string | null;
  /** The body as JSON, or as text when it is not JSON. */
  readonly body: unknown;

  constructor(answer: ErrorAnswer) {
    super(`${answer.message} (${answer.status}${answer.code === null ? '' : ` ${answer.code}`})`);
    this.status = answer.status;
    this.code = answer.code;
    this.type = answer.type;
    this.param = answer.param;
    this.headers = answer.headers;
    this.requestId = answer.headers.get('x-request-id');
    this.body = answer.body;
  }
}

export class BadRequestError extends APIError {
  override readonly name: string = 'BadRequestError';
}

export class AuthenticationError extends APIError {
  override readonly name: string = 'AuthenticationError';
}

export class PermissionError extends APIError {
  override readonly name: string = 'PermissionError';
}

export class NotFoundError extends APIError {
  override readonly name: string = 'NotFoundError';
}

export class ConflictError extends APIError {
  override readonly name: string = 'ConflictError';
}

export class RateLimitError extends APIError {
  override readonly name: string = 'RateLimitError';
}

export class ServerError extends APIError {
  override readonly name: string = 'ServerError';
}
