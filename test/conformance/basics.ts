/** Rules for every route: unknown paths, wrong methods, security headers, keys (PROTOCOL.md). */
import { describe, expect, it } from 'vitest';
import { Api } from '../support/api.ts';
import { CheckedApi, expectError, expectRequestId } from './checked-api.ts';
import { ROUTES } from './discovery.ts';
import { exchange, head } from './raw-http.ts';
import { apiOf, type GetTarget, MISSING_RUN, say, uniqueName } from './target.ts';

/** A path that every server of this API has, so that a refusal must come from the key. */
const KEYED = '/v1/models';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const concrete = (route: string) => route.replace('{run_id}', MISSING_RUN).replace('{session_id}', 'missing');
const PATHS = [...new Set([...ROUTES.map(([, route]) => route), '/openapi.json'])].map(concrete);
const taken = (path: string) =>
  ROUTES.filter(([, route]) => concrete(route) === path).map(([method]) => method);

export function describeBasics(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('every path', () => {
    it.each(PATHS)('%s answers 405 with Allow to the methods it does not take', async (path) => {
      const allowed = path === '/openapi.json' ? ['GET'] : taken(path);
      for (const method of METHODS.filter((name) => !allowed.includes(name))) {
        const answer = await api().request(method, path);
        expectError(answer, { status: 405, code: 'method_not_allowed' });
        const allow = answer.headers.get('allow')?.split(/, ?/) ?? [];
        expect(allow.filter((name) => name !== 'HEAD' && name !== 'OPTIONS').sort(), method).toEqual(
          [...allowed].sort(),
        );
      }
    });

    it.each([
      '/',
      '/v1',
      '/v2/runs',
      '/v1/run',
      '/V1/RUNS',
      '/v1//runs',
      `/v1/runs/${MISSING_RUN}/nothing`,
      `/v1/runs/${MISSING_RUN}/stop/`,
      '/favicon.ico',
      '/.env',
    ])('%s that does not exist is 404 in the same envelope', async (path) => {
      for (const method of METHODS) {
        expectError(await api().request(method, path), { status: 404, code: 'not_found', param: null });
      }
    });

    it('answers HEAD as GET without a body', async () => {
      const { baseUrl, key } = target();
      const authorization: [string, string][] = key === undefined ? [] : [['Authorization', `Bearer ${key}`]];
      const [asked, got] = await Promise.all(
        ['HEAD', 'GET'].map((method) =>
          exchange(baseUrl, head(baseUrl, method, '/v1/models', authorization)),
        ),
      );
      expect(asked).toMatchObject({ status: 200, body: '' });
      expect(asked!.headers.get('content-length')).toBe(got!.headers.get('content-length'));
    });

    it('answers OPTIONS without an origin in the envelope', async () => {
      expectError(await api().request('OPTIONS', '/v1/runs'), { status: 405, code: 'method_not_allowed' });
    });

    it('is JSON with its length, in UTF-8', async () => {
      const { headers } = await api().get('/v1/runs');
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.has('content-length')).toBe(true);
      expect(headers.has('x-powered-by')).toBe(false);
    });

    it("echoes the client's request id, in answers, refusals and streams", async () => {
      const id = uniqueName('request');
      const asked = { headers: { 'x-request-id': id } };
      for (const path of ['/health', '/v1/runs', '/nothing', `/v1/runs/${MISSING_RUN}`]) {
        expectRequestId((await api().request('GET', path, asked)).headers, id);
      }
      expectRequestId((await api().request('POST', '/v1/runs', { raw: '{', ...asked })).headers, id);
      const body = { messages: [{ role: 'user', content: say('named') }], stream: true };
      const streamed = await new Api(target().baseUrl, target().key).post(
        '/v1/chat/completions',
        body,
        asked.headers,
      );
      expectRequestId(streamed.headers, id);
    });

    it("makes its own request id if the client's is malformed", async () => {
      const name = async (given: string) => {
        const { headers } = await api().request('GET', '/health', { headers: { 'x-request-id': given } });
        return headers.get('x-request-id');
      };
      const made = [await name('two words'), await name('x'.repeat(1000)), await name('')];
      for (const id of made) expect(id).toMatch(/^req_[0-9a-f]{32}$/);
      expect(new Set(made).size).toBe(3);
    });
  });
}

export function describeAuth(target: GetTarget): void {
  const refusal = { status: 401, code: 'invalid_api_key', message: 'Invalid API key', param: null };
  const stranger = (authorization?: string) => ({
    request: (method: string, path: string) =>
      new CheckedApi(target().baseUrl).request(method, path, {
        headers: authorization === undefined ? {} : { authorization },
      }),
  });

  describe('without the right key', () => {
    const guarded = [...METHODS.flatMap((method) => PATHS.map((path) => [method, path] as const))].filter(
      ([method, path]) => !(method === 'GET' && /^(\/v1)?\/health$/.test(path)),
    );

    it('every route but the two of health answers 401, whatever the method', async () => {
      for (const [method, path] of guarded) expectError(await stranger().request(method, path), refusal);
    });

    it.each(['/', '/nothing', '/v1/nothing', '/metrics', '/health/detailed', '/v1/runs/%ff', '/%'])(
      '%s answers 401, so nobody learns which routes exist',
      async (path) => {
        expectError(await stranger().request('GET', path), refusal);
      },
    );

    it('401 comes before the body or its size is checked', async () => {
      const { baseUrl } = target();
      for (const body of ['not json', '{"input":""}']) {
        const answer = await new CheckedApi(baseUrl).request('POST', '/v1/runs', { raw: body });
        expectError(answer, refusal);
      }
      const huge = await exchange(
        baseUrl,
        head(baseUrl, 'POST', '/v1/runs', [['Content-Length', '10000001']]),
      );
      expect(huge?.status).toBe(401);
    });

    it.each([
      ['another key', () => 'Bearer wrong'],
      ['no scheme', () => target().key!],
      ['another scheme', () => `Basic ${Buffer.from(`user:${target().key}`).toString('base64')}`],
      ['no key', () => 'Bearer'],
      ['an empty key', () => 'Bearer '],
      ['the key and more', () => `Bearer ${target().key}x`],
      ['less than the key', () => `Bearer ${target().key!.slice(0, -1)}`],
      ['the key in other case', () => `Bearer ${target().key!.toUpperCase()}`],
      ['the key twice', () => `Bearer ${target().key} ${target().key}`],
      ['the key quoted', () => `Bearer "${target().key}"`],
      ['a long key', () => `Bearer ${'x'.repeat(10_000)}`],
      ['a key beyond ASCII', () => 'Bearer ÿþ'],
    ])('%s is 401', async (_, authorization) => {
      expectError(await stranger(authorization()).request('GET', KEYED), refusal);
    });

    it('in the query or in a cookie is 401: keys there end up in logs', async () => {
      expectError(await stranger().request('GET', `${KEYED}?key=${target().key}`), refusal);
      const cookie = `key=${target().key}`;
      const answer = await new CheckedApi(target().baseUrl).request('GET', KEYED, {
        headers: { cookie },
      });
      expectError(answer, refusal);
    });

    it('the scheme may be written in any case', async () => {
      expect((await stranger(`bearer ${target().key}`).request('GET', KEYED)).status).toBe(200);
    });

    it("may come as api-key, the header of Azure's clients, unless there is another header", async () => {
      const withKey = (key: string, authorization?: string) =>
        new CheckedApi(target().baseUrl).request('GET', KEYED, {
          headers: { 'api-key': key, ...(authorization !== undefined && { authorization }) },
        });
      expect((await withKey(target().key!)).status).toBe(200);
      expectError(await withKey(`${target().key}x`), refusal);
      expectError(await withKey(target().key!, 'Bearer wrong'), refusal);
    });
  });
}
