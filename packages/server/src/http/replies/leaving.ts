import { TalariaError } from '@talaria/protocol';
import type { FastifyReply } from 'fastify';

/**
 * Aborted when the client is gone, so that nothing is read for nobody. The reason is one that is no failure of the
 * server, which would be logged.
 */
export function leaving(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort(new TalariaError('invalid_request')));
  return controller.signal;
}
