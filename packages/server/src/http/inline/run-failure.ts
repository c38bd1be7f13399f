/**
 * Turns a run that did not complete into the response to its request: a status and the usual envelope with the code of
 * the reason. `x-should-retry` keeps the OpenAI libraries from retrying by themselves: that would be a second run, with
 * the effects of its tools.
 */
import {
  API_ERRORS,
  type ErrorBody,
  type EventPayload,
  RUN_FAILURE_STATUS,
  type RunFailureCode,
  TalariaError,
  toErrorBody,
} from '@talaria/protocol';
import type { FastifyReply } from 'fastify';
import type { StoredEvent } from '../../journal/journal.ts';

/** Failures that a different request could avoid. */
const ANOTHER_REQUEST: ReadonlySet<string> = new Set<RunFailureCode>([
  'provider_bad_request',
  'context_overflow',
  'content_filtered',
  'invalid_output',
]);

export interface RunFailure {
  body: ErrorBody;
}

/** For the terminal event of a run that failed or was stopped. */
export function toRunFailure({ event, payload }: Pick<StoredEvent, 'event' | 'payload'>): RunFailure {
  if (event === 'run.cancelled') return ofError(new TalariaError('run_cancelled'));
  const { error, error_code: code } = JSON.parse(payload) as EventPayload<'run.failed'>;
  const type = ANOTHER_REQUEST.has(code)
    ? 'invalid_request_error'
    : code === 'provider_rate_limit'
      ? 'rate_limit_error'
      : 'server_error';
  return { body: { error: { message: error, type, param: null, code } } };
}

export function sendRunFailure(reply: FastifyReply, { body }: RunFailure): FastifyReply {
  return reply.code(RUN_FAILURE_STATUS).header('x-should-retry', 'false').send(body);
}

/** The error for a reader whose run continues without it: the server shuts down, or its store fails. */
export function interruption({ code, message }: TalariaError, runId: string): TalariaError {
  return new TalariaError(code, {
    message: `${message}. The run ${runId} continues; see GET /v1/runs/${runId}`,
  });
}

/**
 * With an idempotency key a retry gets the same run, and is the best thing to do. Without a key it would start another
 * run beside the one that continues, so the status is one that clients do not retry.
 */
export function sendInterruption(reply: FastifyReply, error: TalariaError, runId: string): FastifyReply {
  const repeatable = reply.request.headers['idempotency-key'] !== undefined;
  const { status } = API_ERRORS[error.code];
  const { body } = ofError(interruption(error, runId));
  reply.headers({ connection: 'close', 'x-should-retry': String(repeatable) });
  if (!repeatable) return reply.code(RUN_FAILURE_STATUS).send(body);
  if (status === 503) reply.header('retry-after', '1');
  return reply.code(status).send(body);
}

function ofError(error: TalariaError): RunFailure {
  return { body: toErrorBody(error) };
}
