/**
 * Requests that are not valid HTTP, and misleading paths and headers. Each is answered in the envelope with the
 * security headers, creates nothing, and the server keeps working.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectError, expectRequestId, expectSecurityHeaders } from './checked-api.ts';
import { exchange, head, openSocket, type RawAnswer } from './raw-http.ts';
import { apiOf, type GetTarget, HeldRun, MISSING_RUN, say, waitForStatus } from './target.ts';

export function describeBadHttp(target: GetTarget): void {
  const api = () => apiOf(target());
  const url = () => target().baseUrl;
  const key = (): [string, string][] =>
    target().key === undefined ? [] : [['Authorization', `Bearer ${target().key}`]];
  const ask = (method: string, path: string, headers: [string, string][] = [], body = '') =>
    exchange(url(), head(url(), method, path, [...key(), ...headers]), body);
  const body = '{"input":"x"}';
  const length: [string, string] = ['Content-Length', String(body.length)];

  function expectRefused(answer: RawAnswer | undefined, status: number, code: string): void {
    expect(answer, 'there is an answer').toBeDefined();
    expectSecurityHeaders(answer!.headers);
    expectRequestId(answer!.headers);
    expect(answer!.headers.get('content-type')).toMatch(/^application\/json\b/);
    expectError({ status: answer!.status, body: JSON.parse(answer!.body) }, { status, code });
  }

  describe('a broken request', () => {
    let newest: string | undefined;
    beforeAll(async () => {
      newest = await api().create(say('newest'));
      await api().finish(newest);
    });
    afterEach(async () => {
      expect((await api().list('?limit=1')).data[0]?.run_id, 'no run was registered').toBe(newest);
      expect((await api().get('/health')).status).toBe(200);
    });

    it.each<[string, (host: string) => string]>([
      ['a version that is none', (host) => `GET /v1/runs HTTP/x\r\nHost: ${host}\r\n\r\n`],
      ['the beginning of TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
      ['zero bytes', () => '\0\0\0\0\r\n\r\n'],
      ['a space in the path', (host) => `GET /v1/ runs HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
      ['a header without a name', (host) => `GET /v1/runs HTTP/1.1\r\nHost: ${host}\r\n: x\r\n\r\n`],
      ['a header name with a space', (host) => `GET /v1/runs HTTP/1.1\r\nHost: ${host}\r\nX A: x\r\n\r\n`],
      ['no host', () => 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n'],
      [
        'two hosts',
        (host) => `GET /health HTTP/1.1\r\nHost: ${host}\r\nHost: elsewhere\r\nConnection: close\r\n\r\n`,
      ],
    ])('with %s is 400', async (_, request) => {
      expectRefused(await exchange(url(), request(new URL(url()).host)), 400, 'invalid_request');
    });

    it.each(['FOO', 'get', 'TRACE', 'PROPFIND', 'LOCK', 'QUERY'])(
      'with the method %s is 405 and says which are allowed',
      async (method) => {
        const answer = await ask(method, '/v1/runs');
        expectRefused(answer, 405, 'method_not_allowed');
        expect(answer!.headers.get('allow')).toContain('POST');
      },
    );

    it.each([
      ['a lone line feed', 'a\nX-Injected: b'],
      ['a lone carriage return', 'a\rX-Injected: b'],
      ['a zero byte', 'a\0b'],
    ])('with %s in a header value is 400', async (_, value) => {
      for (const name of ['Idempotency-Key', 'Last-Event-ID', 'X-Anything']) {
        const answer = await ask('POST', '/v1/runs', [[name, value], length], body);
        expectRefused(answer, 400, 'invalid_request');
      }
    });

    it.each<[string, [string, string][], string]>([
      [
        'two lengths',
        [
          ['Content-Length', '13'],
          ['Content-Length', '5'],
        ],
        body,
      ],
      [
        'a length and chunks',
        [
          ['Content-Length', '13'],
          ['Transfer-Encoding', 'chunked'],
        ],
        '0\r\n\r\n',
      ],
      ['a negative length', [['Content-Length', '-1']], body],
      ['a length that is no number', [['Content-Length', '13x']], body],
      ['a length beyond all numbers', [['Content-Length', '9'.repeat(30)]], body],
      ['chunks of no size', [['Transfer-Encoding', 'chunked']], `zz\r\n${body}\r\n`],
      ['an unknown transfer encoding', [['Transfer-Encoding', 'gzip']], body],
      ['chunked not last', [['Transfer-Encoding', 'chunked, gzip']], body],
    ])('with %s is 400', async (_, headers, sent) => {
      expectRefused(await ask('POST', '/v1/runs', headers, sent), 400, 'invalid_request');
    });

    it.each<[string, string, [string, string][]]>([
      ['one header', '/v1/runs', [['X-Long', 'x'.repeat(20_000)]]],
      ['many headers', '/v1/runs', Array.from({ length: 2_500 }, (_, i) => [`X-${i}`, 'x'])],
      ['the path', `/v1/runs/${'x'.repeat(20_000)}`, []],
      ['the query', `/v1/runs?after=${'x'.repeat(20_000)}`, []],
      ['the key', '/v1/runs', [['Authorization', `Bearer ${'x'.repeat(20_000)}`]]],
    ])('with a head too large because of %s is 431', async (_, path, headers) => {
      expectRefused(await ask('GET', path, headers), 431, 'invalid_request');
    });

    it('with an unknown expectation is 417', async () => {
      const answer = await ask('POST', '/v1/runs', [['Expect', 'a miracle'], length], body);
      expectRefused(answer, 417, 'invalid_request');
    });

    it('on the connection of an open stream ends that stream without a second response in it', async () => {
      await using held = await HeldRun.start(target());
      newest = held.runId;
      const socket = openSocket(url());
      let text = '';
      const closed = new Promise<void>((resolve) => {
        socket.on('error', () => {});
        socket.on('close', () => resolve());
      });
      socket.on('data', (chunk) => {
        text += chunk;
        if (text.includes(': open')) socket.write('\0broken\r\n\r\n');
      });
      socket.write(head(url(), 'GET', `/v1/runs/${held.runId}/events`, key()));
      await closed;
      expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
      expect((await api().run(held.runId)).status).toBe('running');
    });

    it.each(['', 'a'.repeat(256), 'ключ', 'a b', 'a\tb', '\x7f', '\x80'])(
      'with the idempotency key %j is 400',
      async (value) => {
        const latin = Buffer.from(value).toString('latin1');
        const opening = head(url(), 'POST', '/v1/runs', [...key(), length, ['Idempotency-Key', latin]]);
        const answer = await exchange(url(), Buffer.from(opening, 'latin1'), body);
        expect(answer?.status).toBe(400);
        // Node's parser refuses what no header may contain; the rest is refused by name.
        expect(['invalid_idempotency_key', 'invalid_request']).toContain(JSON.parse(answer!.body).error.code);
      },
    );

    it('with two idempotency keys is 400', async () => {
      const keys: [string, string][] = [
        ['Idempotency-Key', 'a'],
        ['Idempotency-Key', 'b'],
      ];
      expectRefused(await ask('POST', '/v1/runs', [...keys, length], body), 400, 'invalid_idempotency_key');
    });
  });

  describe('a run id', () => {
    let real: string;
    beforeAll(async () => {
      real = await api().create(say('real'));
      await api().finish(real);
    });

    const tricks: [string, () => string][] = [
      ['empty', () => ''],
      ['two dots', () => '..'],
      ['two escaped dots', () => '%2e%2e'],
      ['a way up', () => `..%2fruns%2f${real}`],
      ['a zero byte', () => '%00'],
      ['the id and a zero byte', () => `${real}%00`],
      ['the id and a line break', () => `${real}%0d%0aX-Injected:%20b`],
      ['the id and a space', () => `${real}%20`],
      ['the id in upper case', () => real.toUpperCase()],
      ['the id with upper-case digits', () => `run_${real.slice(4).toUpperCase()}`],
      ['no prefix', () => real.slice(4)],
      ['one digit less', () => real.slice(0, -1)],
      ['one digit more', () => `${real}0`],
      ['parameters', () => `${real};x=1`],
      ['an extension', () => `${real}.json`],
      ['an SQL wildcard', () => 'run_%25'],
      ['an SQL quote', () => "run_'%20OR%20'1'='1"],
      ['a prototype', () => '__proto__'],
      ['unicode', () => encodeURIComponent('run_日本語🏳️‍🌈')],
      ['full-width letters', () => encodeURIComponent(real.replace('run', 'ｒｕｎ'))],
      ['one thousand characters', () => 'x'.repeat(1_000)],
      ['ten thousand characters', () => 'x'.repeat(10_000)],
    ];
    const routes: [string, string][] = [
      ['GET', ''],
      ['GET', '/events'],
      ['POST', '/stop'],
      ['POST', '/approval'],
      ['POST', '/steer'],
      ['PATCH', ''],
    ];

    it.each(tricks)('that is %s is an unknown run on every route', async (_, id) => {
      for (const [method, rest] of routes) {
        const answer = await ask(
          method,
          `/v1/runs/${id()}${rest}`,
          method === 'GET' ? [] : [length],
          method === 'GET' ? '' : body,
        );
        expectRefused(answer, 404, 'run_not_found');
        const { message } = JSON.parse(answer!.body).error;
        expect(message).toBe(`Run not found: ${decodeURIComponent(id())}`);
        expect(answer!.headers.has('x-injected')).toBe(false);
      }
    });

    it.each(['%ff', '%', '%zz', '%c0%af', `${MISSING_RUN}%e2%82`])(
      'that is %s is not a valid URL',
      async (id) => {
        for (const [method, rest] of routes) {
          const answer = await ask(method, `/v1/runs/${id}${rest}`);
          expectRefused(answer, 400, 'invalid_request');
        }
      },
    );

    it('with more slashes is an unknown route', async () => {
      for (const path of [
        `/v1/runs//${real}`,
        `//v1/runs/${real}`,
        `/v1/runs/${real}/`,
        `/v1/runs/${real}//events`,
      ]) {
        expectRefused(await ask('GET', path), 404, 'not_found');
      }
    });

    it('that is right still works after all this, with any query', async () => {
      for (const query of ['', '?', '?x=%ff', '?__proto__=1', '?run_id=other', '#fragment']) {
        expect((await ask('GET', `/v1/runs/${real}${query}`))?.status).toBe(200);
      }
      await waitForStatus(api(), real, 'completed');
    });
  });
}
