import type { FastifyRequest } from 'fastify';

/** A header of the request; one that was sent several times is joined. */
export function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}
