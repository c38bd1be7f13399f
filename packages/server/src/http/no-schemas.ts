/**
 * Disables Fastify's validator and serializer. By default it loads both, some hundred modules, even if no route has a
 * schema, and none has one here (see http-server.ts). A route with a schema keeps the server from starting, so that no
 * schema is silently ignored.
 */
import type { FastifyServerOptions } from 'fastify';

export const NO_SCHEMAS = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
} satisfies FastifyServerOptions['schemaController'];

function refuse(): never {
  throw new Error(
    'routes have no schemas for Fastify: input is read with the functions of @talaria/protocol',
  );
}
