import { TalariaError, toErrorBody } from '@talaria/protocol';
import Fastify from 'fastify';
import { afterAll, expect, test } from 'vitest';
import { installErrorHandling } from './errors.ts';

const app = Fastify({ bodyLimit: 10 });
installErrorHandling(app, 'not_found', { of: () => undefined });
const failures: Record<string, Error> = {
  refused: new TalariaError('job_not_found'),
  later: new TalariaError('rate_limit_exceeded', { retryAfterS: 7 }),
  key: new TalariaError('invalid_api_key'),
  broken: new Error('the reason is for the log alone'),
};
for (const [name, error] of Object.entries(failures)) {
  for (const prefix of ['/v1', '/api/jobs']) {
    app.post(`${prefix}/${name}`, async () => {
      throw error;
    });
  }
}
afterAll(() => app.close());

const ask = async (url: string, payload = '{}') => {
  const answer = await app.inject({
    method: 'POST',
    url,
    payload,
    headers: { 'content-type': 'application/json' },
  });
  return { status: answer.statusCode, body: answer.json(), retryAfter: answer.headers['retry-after'] };
};

test('every error has the same envelope', async () => {
  expect(await ask('/v1/refused')).toMatchObject({
    status: 404,
    body: toErrorBody(new TalariaError('job_not_found')),
  });
  expect(await ask('/v1/later')).toMatchObject({ status: 429, retryAfter: '7' });
  expect(await ask('/v1/broken')).toMatchObject({
    status: 500,
    body: toErrorBody(new TalariaError('internal_error')),
  });
});

test('an error of a route under /api/jobs is plain text in `error`', async () => {
  expect(await ask('/api/jobs/refused')).toMatchObject({ status: 404, body: { error: 'Job not found' } });
  expect(await ask('/api/jobs/later')).toMatchObject({
    status: 429,
    retryAfter: '7',
    body: { error: expect.any(String) },
  });
  expect(await ask('/api/jobs/broken')).toMatchObject({
    status: 500,
    body: { error: 'Internal server error' },
  });
  expect(await ask('/api/jobs/refused', '"more than ten bytes"')).toMatchObject({
    status: 413,
    body: { error: expect.stringContaining('larger than') },
  });
});

test('errors from before a route is reached look the same everywhere', async () => {
  const { body } = await ask('/v1/key');
  expect(await ask('/api/jobs/key')).toMatchObject({ status: 401, body });
  expect(await ask('/api/jobs/nothing')).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found' } },
  });
});
