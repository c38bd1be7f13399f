/** Turns whatever went wrong into the one error envelope. */
import { API_ERRORS, TalariaError, toErrorBody } from '@talaria/protocol';
import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify';
import { answerWhileSending } from './answer-while-sending.ts';

export function sendError(reply: FastifyReply, error: TalariaError): FastifyReply {
  if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
  return reply.code(API_ERRORS[error.code].status).send(toErrorBody(error));
}

export function installErrorHandling(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | TalariaError, request, reply) => {
    const known = toTalariaError(error);
    if (known.code === 'internal_error' || known.code === 'store_unavailable') {
      request.log.error(
        { err: error, method: request.method, route: request.routeOptions.url },
        known.message,
      );
    }
    if (known.code === 'body_too_large') {
      answerWhileSending(request, reply, API_ERRORS[known.code].status, toErrorBody(known));
      return;
    }
    return sendError(reply, known);
  });
  app.setNotFoundHandler((request, reply) =>
    sendError(
      reply,
      new TalariaError('not_found', { message: `No such route: ${request.method} ${path(request.url)}` }),
    ),
  );
}

/** What the framework throws, in our words. */
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
