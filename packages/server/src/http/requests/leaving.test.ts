import { once } from 'node:events';
import { connect } from 'node:net';
import fastify from 'fastify';
import { expect, test } from 'vitest';
import { leaving } from './leaving.ts';

test.each([
  ['before it is asked for', true],
  ['after it was asked for', false],
])('a client that leaves %s has left', async (_, early) => {
  const app = fastify();
  const { promise: signal, resolve } = Promise.withResolvers<AbortSignal>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  app.get('/', async (_request, reply) => {
    if (!early) resolve(leaving(reply));
    arrive();
    await once(reply.raw, 'close');
    if (early) resolve(leaving(reply));
    return '';
  });
  const client = connect(Number(new URL(await app.listen({ port: 0 })).port), '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  await arrived;
  client.destroy();
  await expect.poll(async () => (await signal).aborted).toBe(true);
  await app.close();
});
