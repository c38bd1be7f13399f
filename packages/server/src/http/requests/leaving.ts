import { TalariaError } from '@talaria/protocol';
import type { FastifyReply } from 'fastify';
import { onClose } from './on-close.ts';

/**
 * Aborts when the client is gone, so that nothing is read for nobody. The reason does not count as a failure of the
 * server, which would be logged.
 */
export function leaving(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  onClose(reply, () => controller.abort(new TalariaError('invalid_request')));
  return controller.signal;
}
