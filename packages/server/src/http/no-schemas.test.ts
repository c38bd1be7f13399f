import Fastify, { type FastifySchema } from 'fastify';
import { expect, test } from 'vitest';
import { NO_SCHEMAS } from './no-schemas.ts';

const TEXT = { type: 'string' };

async function start(options: { schema?: FastifySchema }): Promise<number> {
  await using app = Fastify({ schemaController: NO_SCHEMAS });
  app.post('/things/:id', options, async () => ({ kept: true }));
  return (await app.inject({ method: 'POST', url: '/things/1', payload: {} })).statusCode;
}

test('routes work without a schema', async () => {
  expect(await start({})).toBe(200);
});

test.each<FastifySchema>([
  { body: TEXT },
  { params: TEXT },
  { querystring: TEXT },
  { headers: TEXT },
  { response: { 200: TEXT } },
])('a route with the schema %j keeps the server from starting', async (schema) => {
  await expect(start({ schema })).rejects.toThrow('routes have no schemas');
});
