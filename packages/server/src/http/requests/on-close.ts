import type { FastifyReply } from 'fastify';

/** Calls back when the response has ended or its client has gone. Node tells that once, so whoever asks later must look. */
export function onClose({ raw }: FastifyReply, gone: () => void): void {
  if (raw.destroyed) gone();
  else raw.once('close', gone);
}
