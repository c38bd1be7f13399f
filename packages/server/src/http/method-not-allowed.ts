/** Answers 405, with `Allow`, to the methods a known path does not take. */
import { TalariaError } from '@talaria/protocol';
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { sendError } from './errors.ts';

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Runs `install` and completes every path it registered. */
export function installMethodNotAllowed(app: FastifyInstance, install: () => void): void {
  const taken = new Map<string, Set<string>>();
  let recording = true;
  app.addHook('onRoute', ({ url, method }) => {
    if (!recording) return;
    const methods = taken.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name.toUpperCase());
    taken.set(url, methods);
  });
  install();
  recording = false;
  for (const [url, methods] of taken) {
    const allow = [...methods].join(', ');
    app.route({
      method: METHODS.filter((method) => !methods.has(method)),
      url,
      handler: (request, reply) => {
        reply.header('allow', allow);
        const message = `${request.method} is not allowed here; allowed: ${allow}`;
        return sendError(reply, new TalariaError('method_not_allowed', { message }));
      },
    });
  }
}
