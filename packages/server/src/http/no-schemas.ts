/**
 * Fastify's validator and serializer, refused. Left alone it loads both, some hundred modules, whether or not a route
 * has a schema; none has one here (see http-server.ts). One that got one all the same would keep the server from
 * starting, rather than have it ignored.
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
