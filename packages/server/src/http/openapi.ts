/** Pieces of the OpenAPI document that several routes share, and the route that serves it. */
import swagger from '@fastify/swagger';
import { ErrorSchema } from '@talaria/protocol/schemas';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';

export const RunParams = Type.Object({ run_id: Type.String({ description: 'run_ and 32 hex digits' }) });

const MEANINGS: Record<number, string> = {
  400: 'The request is not valid',
  401: 'The API key is missing or wrong',
  404: 'No such run, or not in a state that allows this',
  409: 'In conflict with what was asked before',
  413: 'The body is too large',
  429: 'Too many runs are waiting; see Retry-After',
  503: 'Not now; see Retry-After',
};

export function errorResponses(...statuses: number[]): Record<number, object> {
  return Object.fromEntries(
    statuses.map((status) => [status, { ...ErrorSchema, description: MEANINGS[status] ?? 'Error' }]),
  );
}

export async function installOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Talaria', version, description: 'The Hermes Agent Runs API, as Talaria serves it' },
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      security: [{ bearer: [] }],
    },
  });
}

export function installOpenApiRoute(app: FastifyInstance): void {
  const schema = { tags: ['discovery'], summary: 'This document' };
  app.get('/openapi.json', { schema }, async () => app.swagger());
}
