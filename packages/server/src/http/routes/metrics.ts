/** `GET /metrics`: for Prometheus (docs/observability.md). */
import type { FastifyInstance } from 'fastify';

export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

export function installMetricsRoute(app: FastifyInstance, metrics: MetricsSource): void {
  app.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.render()),
  );
}
