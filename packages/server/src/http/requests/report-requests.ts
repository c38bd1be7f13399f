/**
 * Reports every answered request to the metrics: by the pattern of its route, never by its path. The duration ends when
 * the response begins to leave, so that a slow reader does not look like a slow server. A stream of events, which
 * leaves without a Fastify payload, has no duration.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Report } from '../../telemetry/facts.ts';

export function installRequestReports(app: FastifyInstance, report: Report): void {
  const answeredAfterMs = new WeakMap<FastifyRequest, number>();
  app.addHook('onSend', (request, reply, payload, done) => {
    answeredAfterMs.set(request, reply.elapsedTime);
    done(null, payload);
  });
  app.addHook('onResponse', (request, reply, done) => {
    report({
      fact: 'http.request',
      method: request.method,
      route: request.routeOptions.url?.replace(/:(\w+)/g, '{$1}'),
      status: reply.raw.statusCode,
      durationMs: answeredAfterMs.get(request),
    });
    done();
  });
}
