/**
 * A run that did not complete, as the answer to the request it was started for: a status and the usual envelope, with
 * the reason's own code. `x-should-retry` keeps the OpenAI libraries from sending such a request again by themselves:
 * that would be a second run, with the effects of its tools.
 */
import {
  API_ERRORS,
  type ErrorBody,
  type EventPayload,
  type RunFailureCode,
  TalariaError,
  toErrorBody,
} from '@talaria/protocol';
import type { FastifyReply } from 'fastify';
import type { StoredEvent } from '../../journal/journal.ts';
import { failureStatus } from './client-traits.ts';

/** Failures that another request could do better than. */
const ANOTHER_REQUEST: ReadonlySet<string> = new Set<RunFailureCode>([
  'provider_bad_request',
  'context_overflow',
  'content_filtered',
  'invalid_output',
  'client_tool_timeout',
]);

export interface RunFailure {
  body: ErrorBody;
}

/** Of the terminal event of a run that failed or was stopped. */
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
  return reply.code(failureStatus(reply.request.headers)).header('x-should-retry', 'false').send(body);
}

/** What a reader is told when its run goes on without it: the server is shutting down, or its store fails. */
export function interruption({ code, message }: TalariaError, runId: string): TalariaError {
  return new TalariaError(code, {
    message: `${message}. The run ${runId} goes on; see GET /v1/runs/${runId}`,
  });
}

/**
 * With an idempotency key the same request again is the same run, and the best thing to do. Without one it would be another
 * run beside the one that continues, so the status is one that its client does not repeat.
 */
export function sendInterruption(reply: FastifyReply, error: TalariaError, runId: string): FastifyReply {
  const repeatable = reply.request.headers['idempotency-key'] !== undefined;
  const { status } = API_ERRORS[error.code];
  const { body } = ofError(interruption(error, runId));
  reply.headers({ connection: 'close', 'x-should-retry': String(repeatable) });
  if (!repeatable) return reply.code(failureStatus(reply.request.headers)).send(body);
  if (status === 503) reply.header('retry-after', '1');
  return reply.code(status).send(body);
}

function ofError(error: TalariaError): RunFailure {
  return { body: toErrorBody(error) };
}
