/**
 * Bad bodies of every kind on every route that takes one. Each is refused with the right status in the envelope,
 * creates nothing, releases nothing, and the server keeps working.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectError } from './checked-api.ts';
import { exchange, head, openSocket, type RawAnswer } from './raw-http.ts';
import { apiOf, type GetTarget, MISSING_RUN, WaitingRun } from './target.ts';

const LIMIT_BYTES = 10_000_000;
const BOM = '\uFEFF';
const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth);
const fields = (count: number) => Array.from({ length: count }, (_, n) => `"${n}":1`).join(',');
const bytes = (...parts: (string | number[])[]) =>
  new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part as string)))) as Uint8Array<ArrayBuffer>;

type Expected = { code: string; message?: string };
const INVALID: Expected = { code: 'invalid_json', message: 'Invalid JSON in request body' };
const NO_OBJECT: Expected = { code: 'body_not_object' };
const TOO_DEEP: Expected = { code: 'invalid_json' };
const TOO_MANY: Expected = { code: 'invalid_json' };

const BAD: [string, string | Uint8Array<ArrayBuffer>, Expected][] = [
  ['nothing', '', INVALID],
  ['white space', ' \n', INVALID],
  ['null', 'null', NO_OBJECT],
  ['true', 'true', NO_OBJECT],
  ['false', 'false', NO_OBJECT],
  ['a number', '42', NO_OBJECT],
  ['a string', '"text"', NO_OBJECT],
  ['an array', '[]', NO_OBJECT],
  ['an array of objects', '[{"input":"x","choice":"once"}]', NO_OBJECT],
  ['a word', 'not json', INVALID],
  ['a form', 'input=x&choice=once', INVALID],
  ['XML', '<input>x</input>', INVALID],
  ['an open object', '{"input":"x"', INVALID],
  ['an open string', '{"input":"x', INVALID],
  ['two objects', '{"input":"x"}{"input":"y"}', INVALID],
  ['a trailing comma', '{"input":"x",}', INVALID],
  ['single quotes', "{'input':'x'}", INVALID],
  ['a comment', '{"input":"x"} // hi', INVALID],
  ['NaN', '{"input":NaN}', INVALID],
  ['a raw zero byte', '{"input":"a\0b"}', INVALID],
  ['a raw line break in a string', '{"input":"a\nb"}', INVALID],
  ['a byte order mark alone', BOM, INVALID],
  ['broken UTF-8', bytes('{"input":"', [0xff, 0xfe], '","choice":"once"}'), INVALID],
  ['a cut-off UTF-8 character', bytes('{"input":"', [0xe2, 0x82], '","choice":"once"}'), INVALID],
  ['a surrogate in UTF-8', bytes('{"input":"', [0xed, 0xa0, 0x80], '","choice":"once"}'), INVALID],
  ['an overlong UTF-8 character', bytes('{"input":"', [0xc0, 0xaf], '","choice":"once"}'), INVALID],
  ['UTF-16', new Uint8Array(Buffer.from('{"input":"x","choice":"once"}', 'utf16le')), INVALID],
  ['an array nested 100 000 deep', nested(100_000), TOO_DEEP],
  [
    'an object with a value nested 100 000 deep',
    `{"input":"x","choice":"once","deep":${nested(100_000)}}`,
    TOO_DEEP,
  ],
  ['an input nested 100 000 deep', `{"input":${nested(100_000)},"choice":"once"}`, TOO_DEEP],
  ['objects nested 100 000 deep', `${'{"input":'.repeat(100_000)}1${'}'.repeat(100_000)}`, TOO_DEEP],
  ['brackets open 100 000 deep', '['.repeat(100_000), INVALID],
  ['100 000 values', `{"input":"x","choice":"once","many":[${'0,'.repeat(100_000)}0]}`, TOO_MANY],
  ['100 000 fields', `{"input":"x","choice":"once",${fields(100_000)}}`, TOO_MANY],
];

export function describeBadBodies(target: GetTarget): void {
  const api = () => apiOf(target());
  let waiting: WaitingRun;
  const pathOf = (route: string) => `/v1/runs${route === 'create' ? '' : `/${waiting.runId}/${route}`}`;

  describe('a bad body', () => {
    let newest: string | undefined;

    beforeAll(async () => {
      waiting = await WaitingRun.start(target());
      newest = waiting.runId;
    });
    afterAll(() => waiting[Symbol.asyncDispose]());

    async function expectNothingHappened(): Promise<void> {
      expect((await api().list('?limit=1')).data[0]?.run_id, 'no run was registered').toBe(newest);
      expect((await api().run(waiting.runId)).approval, 'nothing was released').toEqual(waiting.approval);
      expect((await api().get('/health')).status).toBe(200);
    }

    const table = BAD.flatMap(([name, raw, expected]) =>
      ['create', 'approval', 'steer'].map((route) => ({ name, raw, expected, route })),
    );

    // A run that is registered stays, and an approval that is released never comes back. So the next tests, which look for
    // both, show for all of these that nothing happened.
    it.each(table)('$route refuses $name', async ({ raw, expected, route }) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await api().request('POST', pathOf(route), { raw, headers });
      expectError(answer, { status: 400, ...expected });
    });

    const polluted = [
      '{"__proto__":{"input":"x","choice":"once"}}',
      '{"constructor":{"prototype":{"input":"x","choice":"once"}}}',
      '{"__proto__":null}',
      '{"hasOwnProperty":1,"toString":2,"valueOf":3}',
    ];
    it.each(polluted)('that reaches for the prototype sets no field: %s', async (raw) => {
      const headers = { 'content-type': 'application/json' };
      const codes = {
        create: 'missing_input',
        approval: 'invalid_approval_choice',
        steer: 'invalid_steer_input',
      };
      for (const [route, code] of Object.entries(codes)) {
        const answer = await api().request('POST', pathOf(route), { raw, headers });
        expectError(answer, { status: 400, code });
      }
      await expectNothingHappened();
    });

    const padding = (size: number) => `{"input":"${'x'.repeat(size - 12)}"}`;

    it.each(['create', 'approval', 'steer', 'stop'])(
      'of more than ten million bytes to %s is 413',
      async (route) => {
        const answer = await api().request('POST', pathOf(route), { raw: padding(LIMIT_BYTES + 1) });
        expectError(answer, { status: 413, code: 'body_too_large' });
        await expectNothingHappened();
      },
    );

    const authorization = (): [string, string][] =>
      target().key === undefined ? [] : [['Authorization', `Bearer ${target().key}`]];
    const send = (headers: [string, string][], ...body: (string | Uint8Array)[]) => {
      const { baseUrl } = target();
      const opening = head(baseUrl, 'POST', '/v1/runs', [...authorization(), ...headers]);
      return exchange(baseUrl, opening, ...body);
    };
    const expectTooLarge = (answer: RawAnswer | undefined) => {
      expect(answer, 'the answer reaches a client that is still sending').toBeDefined();
      expectError(
        { status: answer!.status, body: JSON.parse(answer!.body) },
        { status: 413, code: 'body_too_large' },
      );
    };

    it('that only announces too much is 413 at once', async () => {
      expectTooLarge(await send([['Content-Length', String(LIMIT_BYTES + 1)]]));
      expectTooLarge(await send([['Content-Length', String(Number.MAX_SAFE_INTEGER)]]));
      await expectNothingHappened();
    });

    it.each(['stop', 'approval', 'steer', 'fork'])(
      'to %s of an unknown run is 404, whatever its size',
      async (route) => {
        const { baseUrl } = target();
        const headers: [string, string][] = [...authorization(), ['Content-Length', String(LIMIT_BYTES + 1)]];
        const path = `/v1/runs/${MISSING_RUN}/${route}`;
        const answer = await exchange(baseUrl, head(baseUrl, 'POST', path, headers));
        expectError(
          { status: answer!.status, body: JSON.parse(answer!.body) },
          { status: 404, code: 'run_not_found' },
        );
      },
    );

    it('of twice the limit is 413 also for a client that sends all of it before it reads', async () => {
      expectTooLarge(await send([['Content-Length', String(2 * LIMIT_BYTES)]], 'x'.repeat(2 * LIMIT_BYTES)));
      await expectNothingHappened();
    });

    it('of twice the limit in chunks is 413 as well', async () => {
      const chunk = `f4240\r\n${'x'.repeat(1_000_000)}\r\n`;
      expectTooLarge(await send([['Transfer-Encoding', 'chunked']], chunk.repeat(20), '0\r\n\r\n'));
      await expectNothingHappened();
    });

    it('is the same body in chunks of one byte', async () => {
      const body = [...'{"input":""}'].map((char) => `1\r\n${char}\r\n`).join('');
      const answer = await send([['Transfer-Encoding', 'chunked']], `${body}0\r\n\r\n`);
      expect(answer?.body).toContain('missing_input');
    });

    it('that ends before its announced length starts nothing', async () => {
      const { baseUrl } = target();
      const opening = head(baseUrl, 'POST', '/v1/runs', [...authorization(), ['Content-Length', '1000']]);
      const socket = openSocket(baseUrl);
      await new Promise<void>((resolve) => {
        socket.on('error', () => {});
        socket.on('close', () => resolve());
        socket.resume();
        socket.write(`${opening}${JSON.stringify({ input: 'cut off' })}`, () => socket.end());
      });
      await expectNothingHappened();
    });
  });

  describe('an odd body that is valid', () => {
    it('of exactly ten million bytes is accepted', async () => {
      const raw = `{"input":"x","padding":"${'x'.repeat(LIMIT_BYTES - 26)}"}`;
      expect(Buffer.byteLength(raw)).toBe(LIMIT_BYTES);
      expect((await api().request('POST', '/v1/runs', { raw })).status).toBe(202);
    });

    it('with a field twice uses the last one, like JSON parsers', async () => {
      const raw = '{"input":"first","input":"second"}';
      const { body } = await api().request<{ run_id: string }>('POST', '/v1/runs', { raw });
      expect(await api().finish(body.run_id)).toMatchObject({ output: 'You said: second' });
    });

    it('with half a surrogate pair is accepted, and is shown as valid text', async () => {
      const raw = '{"input":"half \\ud83d","session_id":"half \\ud83d"}';
      const { body } = await api().request<{ run_id: string }>('POST', '/v1/runs', { raw });
      const end = await api().finish(body.run_id);
      expect(end).toMatchObject({ event: 'run.completed' });
      expect((await api().run(body.run_id)).status).toBe('completed');
    });

    it('with escaped zero bytes in the input is accepted', async () => {
      const runId = await api().create('a\u0000b');
      expect(await api().finish(runId)).toMatchObject({
        event: 'run.completed',
        output: 'You said: a\u0000b',
      });
    });
  });
}
