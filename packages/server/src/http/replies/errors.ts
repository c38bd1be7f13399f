/**
 * Turns every failure into a response. It is the one error envelope everywhere, except for errors of routes under
 * `/api/jobs`: those are a single text, as the clients of those routes expect.
 */
import { API_ERRORS, type ApiErrorCode, TalariaError, toErrorBody } from '@talaria/protocol';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AllowedMethods } from '../requests/allowed-methods.ts';
import { answerWhileSending } from './answer-while-sending.ts';

/** These come before any route is reached, and look the same on all of them. */
const BEFORE_ROUTES: ReadonlySet<ApiErrorCode> = new Set([
  'invalid_api_key',
  'origin_not_allowed',
  'host_not_allowed',
  'method_not_allowed',
]);

/** Refused without reading the body, which is still being sent. */
const UNREAD_BODY: ReadonlySet<ApiErrorCode> = new Set(['body_too_large', 'too_many_bodies', 'server_busy']);

export function sendError(reply: FastifyReply, error: TalariaError): FastifyReply {
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  return reply.code(API_ERRORS[error.code].status).send(bodyOf(reply.request, error));
}

/** `unrouted` answers a request for an unknown path; `allowed` knows the paths that take other methods. */
export function installErrorHandling(
  app: FastifyInstance,
  unrouted: 'not_found' | 'no_api',
  allowed: Pick<AllowedMethods, 'of'>,
): void {
  const answerUnrouted = (request: FastifyRequest, reply: FastifyReply) => {
    const allow = allowed.of(request.url.split('?', 1)[0] ?? '');
    if (allow !== undefined) {
      reply.header('allow', allow);
      const message = `${request.method} is not allowed here; allowed: ${allow}`;
      return sendError(reply, new TalariaError('method_not_allowed', { message }));
    }
    const route = `${request.method} ${path(request.url)}`;
    const message = unrouted === 'not_found' ? `No such route: ${route}` : API_ERRORS.no_api.message;
    return sendError(reply, new TalariaError(unrouted, { message }));
  };
  app.setNotFoundHandler(answerUnrouted);
  app.setErrorHandler((error: FastifyError | TalariaError, request, reply) => {
    // Fastify checks the content type of a QUERY even if no route takes one.
    if ((error as FastifyError).code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE')
      return answerUnrouted(request, reply);
    const known = toTalariaError(error);
    if (known.code === 'internal_error' || known.code === 'store_unavailable') {
      request.log.error(
        { err: error, method: request.method, route: request.routeOptions.url },
        known.message,
      );
    }
    const streams = request.routeOptions.config.streamsBody === true && !request.raw.complete;
    if (UNREAD_BODY.has(known.code) || streams) {
      if (known.retryAfterS !== undefined) reply.header('retry-after', String(known.retryAfterS));
      answerWhileSending(request, reply, API_ERRORS[known.code].status, bodyOf(request, known));
      return;
    }
    return sendError(reply, known);
  });
}

function bodyOf(request: FastifyRequest, error: TalariaError): object {
  const flat = request.routeOptions.url?.startsWith('/api/jobs') && !BEFORE_ROUTES.has(error.code);
  return flat ? { error: error.message } : toErrorBody(error);
}

/** Translates the framework's errors into ours. */
export function toTalariaError(error: FastifyError | TalariaError): TalariaError {
  if (error instanceof TalariaError) return error;
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new TalariaError('body_too_large', { cause: error });
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return new TalariaError('invalid_request', { message: error.message, cause: error });
  }
  return new TalariaError('internal_error', { cause: error });
}

function path(url: string): string {
  const bare = url.split('?', 1)[0] ?? '';
  return bare.length > 200 ? `${bare.slice(0, 200)}…` : bare;
}
