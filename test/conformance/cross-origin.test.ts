/** Web pages and the server: which origins and host names are admitted (PROTOCOL.md). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { expectError, expectSecurityHeaders } from './checked-api.ts';
import { exchange, head, type RawAnswer } from './raw-http.ts';
import { MISSING_RUN } from './target.ts';

const KEY = 'sk-cross-origin';
const APP = 'https://app.example';
const LOCAL = 'http://localhost:3000';
const EVIL = 'https://evil.example';

/** A server with these settings for the tests of a block, and raw requests to it. */
function useServer(env: Record<string, string>) {
  let server: HostedServer;
  beforeAll(async () => {
    server = await HostedServer.start({ env });
  });
  afterAll(() => server[Symbol.asyncDispose]());
  const ask = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
  ): Promise<RawAnswer> => {
    const answer = await exchange(server.url, head(server.url, method, path, Object.entries(headers)));
    expectSecurityHeaders(answer!.headers);
    return answer!;
  };
  return { ask, url: () => server.url, host: () => new URL(server.url).host };
}

const authorization = `Bearer ${KEY}`;
const refused = { status: 403, code: 'origin_not_allowed' };
const parsed = ({ status, body }: RawAnswer) => ({ status, body: JSON.parse(body) });
const corsHeaders = ({ headers }: RawAnswer) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

describe('without allowed origins', () => {
  const { ask, url, host } = useServer({});

  it.each([
    ['GET', '/health'],
    ['GET', '/v1/runs'],
    ['GET', '/v1/models'],
    ['GET', `/v1/runs/${MISSING_RUN}/events`],
    ['POST', `/v1/runs/${MISSING_RUN}/stop`],
    ['GET', '/nothing'],
    ['GET', '/v1/runs/%ff'],
    ['OPTIONS', '/v1/runs'],
  ])('%s %s from a page of another origin is 403, and reveals nothing to the page', async (method, path) => {
    for (const origin of [EVIL, 'null', 'http://localhost', 'http://127.0.0.1:1', 'file://', '']) {
      const answer = await ask(method, path, { Origin: origin });
      expectError(parsed(answer), refused);
      expect(corsHeaders(answer)).toEqual([]);
    }
  });

  it('a preflight is 403 as well', async () => {
    const answer = await ask('OPTIONS', '/v1/runs', {
      Origin: EVIL,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization',
    });
    expectError(parsed(answer), refused);
    expect(corsHeaders(answer)).toEqual([]);
  });

  it('a run is not started by a page of another origin', async () => {
    const body = '{"input":"x"}';
    const headers: [string, string][] = [
      ['Origin', EVIL],
      ['Content-Type', 'text/plain'],
      ['Content-Length', String(body.length)],
    ];
    const answer = await exchange(url(), head(url(), 'POST', '/v1/runs', headers), body);
    expectError(parsed(answer!), refused);
    expect((await new Api(url()).list()).data).toEqual([]);
  });

  it("the server's own pages and clients without an origin are admitted", async () => {
    expect((await ask('GET', '/v1/runs', { Origin: `http://${host()}` })).status).toBe(200);
    expect((await ask('GET', '/v1/runs')).status).toBe(200);
  });

  it('its own pages are admitted behind a proxy that ends TLS, or that changes the host', async () => {
    const behindTls = await ask('GET', '/v1/runs', { Origin: `https://${host()}` });
    expect(behindTls.status).toBe(200);
    expect(corsHeaders(behindTls)).toEqual([]);
    const told = await ask('GET', '/v1/runs', { Origin: APP, 'Sec-Fetch-Site': 'same-origin' });
    expect(told.status).toBe(200);
    expect(corsHeaders(told)).toEqual([]);
  });

  it('its own host with another port or a longer name is another origin', async () => {
    for (const origin of [
      `http://${host()}0`,
      `https://${new URL(url()).hostname}`,
      `http://${host()}.evil.example`,
      `ftp://${host()}`,
      `http://${host()}@evil.example`,
    ]) {
      expectError(parsed(await ask('GET', '/v1/runs', { Origin: origin })), refused);
    }
  });

  it('a page is refused if the browser says that it is of another origin, whatever its host', async () => {
    for (const site of ['cross-site', 'same-site', 'none', '']) {
      const headers = { Origin: `http://${host()}`, 'Sec-Fetch-Site': site };
      expectError(parsed(await ask('GET', '/v1/runs', headers)), refused);
    }
  });
});

describe('an open server called by a host name that is not loopback', () => {
  const { url, host } = useServer({});
  const port = () => new URL(url()).port;
  const askAs = async (name: string, path: string, headers: [string, string][] = []) => {
    const lines = [['Host', name], ['Connection', 'close'], ...headers].map(([k, v]) => `${k}: ${v}\r\n`);
    return (await exchange(url(), `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`))!;
  };

  it.each([
    'evil.example',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '192.168.1.5',
    '0.0.0.0',
    '[::ffff:8.8.8.8]',
  ])('%s is 403: with a name that points here a page could get around the origin check', async (name) => {
    for (const path of ['/v1/runs', '/v1/models', '/health/detailed', '/nothing', '/%']) {
      const answer = await askAs(`${name}:${port()}`, path);
      expectSecurityHeaders(answer.headers);
      expectError(parsed(answer), { status: 403, code: 'host_not_allowed' });
    }
    const own: [string, string] = ['Origin', `http://${name}:${port()}`];
    expect((await askAs(`${name}:${port()}`, '/v1/runs', [own])).status).toBe(403);
  });

  it('is admitted by every loopback name', async () => {
    for (const name of [
      host(),
      'localhost',
      `localhost:${port()}`,
      'LOCALHOST',
      '127.0.0.1',
      '127.8.8.8',
      '[::1]',
    ]) {
      expect((await askAs(name, '/v1/runs')).status, name).toBe(200);
    }
  });

  it('still reports that it is up', async () => {
    expect((await askAs('load-balancer.example', '/health')).status).toBe(200);
  });
});

describe('with a list of allowed origins', () => {
  const { ask } = useServer({ API_SERVER_KEY: KEY, API_SERVER_CORS_ORIGINS: `${APP},${LOCAL}` });

  it.each([APP, LOCAL])('%s is admitted and told so', async (origin) => {
    const answer = await ask('GET', '/v1/runs', { Origin: origin, Authorization: authorization });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    expect(answer.headers.get('vary')).toMatch(/\bOrigin\b/);
  });

  it('a page may read the additional headers of a response', async () => {
    const { headers } = await ask('GET', '/v1/runs', { Origin: APP, Authorization: authorization });
    const exposed = headers.get('access-control-expose-headers')!.split(', ');
    expect(exposed).toEqual(
      expect.arrayContaining([
        'Idempotency-Replayed',
        'Retry-After',
        'X-Hermes-Session-Id',
        'X-Hermes-Session-Key',
        'X-Request-Id',
        'X-Should-Retry',
        'X-Talaria-Run-Id',
      ]),
    );
  });

  it("the preflight allows what OpenAI's libraries send with every request", async () => {
    const answer = await ask('OPTIONS', '/v1/chat/completions', {
      Origin: APP,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'api-key,authorization,x-evil,x-stainless-os,x-stainless-retry-count',
    });
    const allowed = answer.headers.get('access-control-allow-headers')!.split(', ');
    expect(allowed).toEqual(expect.arrayContaining(['api-key', 'x-stainless-os', 'x-stainless-retry-count']));
    expect(allowed).not.toContain('x-evil');
  });

  it('the preflight of a write of a file allows the method and its conditions', async () => {
    const answer = await ask('OPTIONS', `/v1/runs/${MISSING_RUN}/artifacts/content?path=a.txt`, {
      Origin: APP,
      'Access-Control-Request-Method': 'PUT',
      'Access-Control-Request-Headers': 'authorization,content-type,if-match,if-none-match',
    });
    expect(answer.headers.get('access-control-allow-methods')!.split(', ')).toContain('PUT');
    expect(answer.headers.get('access-control-allow-headers')!.split(', ')).toEqual(
      expect.arrayContaining(['if-match', 'if-none-match']),
    );
  });

  it('an allowed page can read errors too: of auth, of routes, of URLs', async () => {
    for (const path of ['/v1/runs', '/nothing', '/v1/runs/%ff']) {
      const answer = await ask('GET', path, { Origin: APP });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
    }
  });

  it('the preflight needs no key, and gives methods, headers and its lifetime', async () => {
    for (const path of ['/v1/runs', `/v1/runs/${MISSING_RUN}/events`, '/nothing']) {
      const answer = await ask('OPTIONS', path, {
        Origin: APP,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization, idempotency-key',
      });
      expect([200, 204]).toContain(answer.status);
      expect(answer.body).toBe('');
      expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
      expect(answer.headers.get('access-control-allow-methods')).toBe('GET, POST, PATCH, DELETE, OPTIONS');
      expect(answer.headers.get('access-control-allow-headers')).toBe(
        'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Hermes-Session-Id, X-Hermes-Session-Key',
      );
      expect(answer.headers.get('access-control-max-age')).toBe('600');
      expect(answer.headers.get('vary')).toMatch(/\bOrigin\b/);
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    }
  });

  it.each([
    EVIL,
    'https://app.example.evil.example',
    'http://app.example',
    'https://app.example:8443',
    'null',
  ])('%s is 403, with the key and in a preflight', async (origin) => {
    for (const [method, headers] of [
      ['GET', { Authorization: authorization }],
      ['OPTIONS', { 'Access-Control-Request-Method': 'POST' }],
    ] as const) {
      const answer = await ask(method, '/v1/runs', { Origin: origin, ...headers });
      expectError(parsed(answer), refused);
      expect(corsHeaders(answer)).toEqual([]);
      expect(answer.headers.get('vary')).toMatch(/\bOrigin\b/);
    }
  });

  it('a response without an origin says that it depends on it, for caches', async () => {
    const answer = await ask('GET', '/v1/runs', { Authorization: authorization });
    expect(answer.headers.get('vary')).toMatch(/\bOrigin\b/);
    expect(corsHeaders(answer)).toEqual([]);
  });
});

describe('with every origin allowed', () => {
  const { ask, url } = useServer({ API_SERVER_KEY: KEY, API_SERVER_CORS_ORIGINS: '*' });

  it('any page is admitted, but not without the key', async () => {
    const known = await ask('GET', '/v1/runs', { Origin: EVIL, Authorization: authorization });
    expect(known.status).toBe(200);
    expect(['*', EVIL]).toContain(known.headers.get('access-control-allow-origin'));
    expect((await ask('GET', '/v1/runs', { Origin: EVIL })).status).toBe(401);
  });

  it('streams can be read by a page', async () => {
    const api = new Api(url(), KEY);
    const runId = await api.create('hello');
    await api.finish(runId);
    const answer = await ask('GET', `/v1/runs/${runId}/events`, {
      Origin: APP,
      Authorization: authorization,
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatch(/^: open\n\n/);
    expect(['*', APP]).toContain(answer.headers.get('access-control-allow-origin'));
  });

  it('the capabilities say so', async () => {
    const { body } = await new Api(url(), KEY).get<{ features: { cors: boolean } }>('/v1/capabilities');
    expect(body.features.cors).toBe(true);
  });
});
