import type { FastifyReply } from 'fastify';

/** Calls back when the response has ended or its client has gone. Node reports that once, so it may have happened already. */
export function onClose({ raw }: FastifyReply, gone: () => void): void {
  if (raw.destroyed) gone();
  else raw.once('close', gone);
}
