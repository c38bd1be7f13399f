/** Requests over real sockets: what is sent, what is retried, and which error comes out. */
import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { errorOf } from '../../../test/support/error-of.ts';
import { ConnectionError, RateLimitError, ServerError, TimeoutError } from './errors.ts';
import { Talaria } from './talaria.ts';
import { type Asked, busy, hangUp, json, serve } from './testing/test-server.ts';

const RUN = 'run_00000000000000000000000000000000';
const FINISHED = { run_id: RUN, status: 'completed' };
const NEVER = 60_000;

describe('a request', () => {
  it("carries the key, the client's headers and its own; the last of the same name wins", async () => {
    const options = { apiKey: 'sk-1', headers: { 'x-a': 'client', 'x-b': 'client' } };
    const { client, asked } = await serve((response) => json(response, 200, FINISHED), options);
    await client.runs.get(RUN, { headers: { 'x-b': 'request' } });
    expect(asked[0]).toMatchObject({
      method: 'GET',
      url: `/v1/runs/${RUN}`,
      headers: { authorization: 'Bearer sk-1', 'x-a': 'client', 'x-b': 'request' },
    });
    expect(asked[0]!.headers).not.toHaveProperty('content-type');
  });

  it('carries its body as JSON, including unknown fields', async () => {
    const { client, asked } = await serve((response) => json(response, 202, { run_id: RUN }));
    await client.runs.create({ input: 'hi', session_id: undefined, reasoning: { effort: 'high' } });
    expect(asked[0]!.headers['content-type']).toBe('application/json');
    expect(JSON.parse(asked[0]!.body)).toEqual({ input: 'hi', reasoning: { effort: 'high' } });
  });

  it('returns the answer unchanged, including unknown fields', async () => {
    const { client } = await serve((response) => json(response, 200, { ...FINISHED, more: [1] }));
    expect(await client.runs.get(RUN)).toEqual({ ...FINISHED, more: [1] });
  });

  it("passes the response's head to onResponse", async () => {
    const { client } = await serve((response) => json(response, 200, FINISHED, { 'x-request-id': 'req_1' }));
    let requestId: string | null = null;
    await client.runs.get(RUN, {
      onResponse: ({ headers }) => {
        requestId = headers.get('x-request-id');
      },
    });
    expect(requestId).toBe('req_1');
  });

  it('puts an id into the path as one segment, and rejects a string that is not an id', async () => {
    const { client, asked } = await serve((response) => json(response, 200, FINISHED));
    await client.runs.get('a/b?c');
    expect(asked[0]!.url).toBe('/v1/runs/a%2Fb%3Fc');
    for (const id of ['', '.', '..']) expect(() => client.runs.get(id)).toThrow(TypeError);
  });

  it('goes through the given fetch', async () => {
    const urls: string[] = [];
    const client = new Talaria({
      baseUrl: 'http://talaria.test/base/v1/',
      fetch: async (url) => {
        urls.push(url);
        return Response.json({ status: 'ok' });
      },
    });
    await client.health.get();
    await client.models.list();
    expect(urls).toEqual(['http://talaria.test/base/health', 'http://talaria.test/base/v1/models']);
  });
});

describe('what is retried', () => {
  it.each([408, 429, 500, 502, 503])('a read that was answered with %i', async (status) => {
    const { client, asked } = await serve((response, _, before) =>
      before < 2 ? busy(response, status) : json(response, 200, FINISHED),
    );
    expect(await client.runs.get(RUN)).toEqual(FINISHED);
    expect(asked).toHaveLength(3);
  });

  it('a read whose connection broke, before or in the middle of the answer', async () => {
    const { client, asked } = await serve((response, _, before) => {
      if (before === 0) return hangUp(response);
      if (before > 1) return json(response, 200, FINISHED);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"run_id":', () => response.destroy());
    });
    expect(await client.runs.get(RUN)).toEqual(FINISHED);
    expect(asked).toHaveLength(3);
  });

  it.each([
    ['is not a run', Buffer.from('null')],
    ['is not a run, though an object', Buffer.from('{"run_id":7}')],
    ['has calls that are none', Buffer.from('{"run_id":"run_1","status":"running","pending_calls":7}')],
    ['is not JSON', Buffer.from('{"run_id":')],
    ['is not UTF-8', Buffer.from([...Buffer.from('{"run_id":"'), 0xff, ...Buffer.from('"}')])],
  ])('a read whose answer %s', async (_, bytes) => {
    const { client, asked } = await serve((response, __, before) => {
      if (before === 0) response.writeHead(200).end(bytes);
      else json(response, 200, FINISHED);
    });
    expect(await client.runs.get(RUN)).toEqual(FINISHED);
    expect(asked).toHaveLength(2);
  });

  it('retries up to the limit, then throws the last failure', async () => {
    const { client, asked } = await serve((response) => busy(response, 503), { maxRetries: 2 });
    expect(await errorOf(client.runs.get(RUN))).toBeInstanceOf(ServerError);
    expect(asked).toHaveLength(3);
    expect(await errorOf(client.runs.get(RUN, { maxRetries: 0 }))).toBeInstanceOf(ServerError);
    expect(asked).toHaveLength(4);
  });

  it.each([400, 401, 403, 404, 409, 413])('not a request that got %i', async (status) => {
    const { client, asked } = await serve((response) => busy(response, status));
    expect(await errorOf(client.runs.get(RUN))).toMatchObject({ status });
    expect(asked).toHaveLength(1);
  });

  it('not when the server asks for more than a minute', async () => {
    const { client, asked } = await serve((response) => json(response, 429, {}, { 'retry-after': '61' }));
    const error = await errorOf(client.runs.get(RUN));
    expect(error).toBeInstanceOf(RateLimitError);
    expect((error as RateLimitError).headers.get('retry-after')).toBe('61');
    expect(asked).toHaveLength(1);
  });

  const accept = (response: ServerResponse, { headers }: Asked): void => {
    if (headers.accept !== 'text/event-stream') json(response, 200, { job: {} });
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
  };

  const CALLS: [string, boolean, (client: Talaria) => PromiseLike<unknown>][] = [
    ['stop', true, ({ runs }) => runs.stop(RUN)],
    [
      'an approval with its id',
      true,
      ({ runs }) => runs.respondApproval(RUN, { choice: 'once', request_id: 'a' }),
    ],
    ['an approval without an id', false, ({ runs }) => runs.respondApproval(RUN, { choice: 'once' })],
    ['outputs of tools', true, ({ runs }) => runs.toolOutputs(RUN, [{ tool_call_id: 'a', output: '' }])],
    ['steering', false, ({ runs }) => runs.steer(RUN, 'left')],
    ['an answer in one piece', true, ({ chat }) => chat.completions.create({ messages: [] })],
    ['an answer that streams', false, ({ chat }) => chat.completions.create({ messages: [], stream: true })],
    ['a response in one piece', true, ({ responses }) => responses.create({ input: 'x' })],
    ['a response that streams', false, ({ responses }) => responses.create({ input: 'x', stream: true })],
    ['a new job', false, ({ jobs }) => jobs.create({ name: 'x', schedule: '1d' })],
    ['a change of a job', true, ({ jobs }) => jobs.update('0', { name: 'y' })],
    ['a job to run now', false, ({ jobs }) => jobs.run('0')],
  ];

  it.each(CALLS)('%s after an unknown outcome: %s', async (_, again, call) => {
    const { client, asked } = await serve(
      (response, question, before) => (before === 0 ? busy(response, 500) : accept(response, question)),
      { maxRetries: 1 },
    );
    if (again) await call(client);
    else expect(await errorOf(call(client))).toBeInstanceOf(ServerError);
    expect(asked).toHaveLength(again ? 2 : 1);
    expect(new Set(asked.map(({ headers, body }) => `${headers['idempotency-key']} ${body}`)).size).toBe(1);
  });

  it.each(CALLS)('%s after a refusal: always', async (_, __, call) => {
    const { client, asked } = await serve(
      (response, question, before) => {
        if (before === 0) busy(response, 429);
        else if (before === 1) busy(response, 503, 'gateway_draining');
        else accept(response, question);
      },
      { maxRetries: 2 },
    );
    await call(client);
    expect(asked).toHaveLength(3);
  });
});

describe('a create whose outcome is unknown', () => {
  const serveCreates = (features: object, fail: typeof hangUp) => {
    let creates = 0;
    return serve((response, { url }) => {
      if (url === '/v1/capabilities') json(response, 200, { features });
      else if (creates++ === 0) fail(response);
      else json(response, 202, { run_id: RUN, status: 'started', replayed: true });
    });
  };

  it.each([
    ['a lost connection', hangUp],
    ['a 502', (response: Parameters<typeof hangUp>[0]) => busy(response, 502)],
  ])('is sent again after %s, with the same key and body, to a server that honours keys', async (_, fail) => {
    const { client, asked } = await serveCreates({ run_idempotency: true }, fail);
    expect(await client.runs.create({ input: 'hi' })).toMatchObject({ run_id: RUN });
    const [first, question, second] = asked;
    expect(asked).toHaveLength(3);
    expect(question!.url).toBe('/v1/capabilities');
    expect(first!.headers['idempotency-key']).toMatch(/^idem_[0-9a-f]{32}$/);
    expect(second).toMatchObject({ body: first!.body, url: first!.url });
    expect(second!.headers['idempotency-key']).toBe(first!.headers['idempotency-key']);
  });

  it('is not sent again to a server that ignores keys: it could start a second run', async () => {
    const { client, asked } = await serveCreates({ run_submission: true }, hangUp);
    expect(await errorOf(client.runs.create({ input: 'hi' }))).toBeInstanceOf(ConnectionError);
    expect(asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('ends with its signal, also while the server is asked about keys', async () => {
    const abort = new AbortController();
    const { client } = await serve((response, { url }) => {
      if (url === '/v1/capabilities') abort.abort(new Error('enough'));
      else hangUp(response);
    });
    const creating = client.runs.create({ input: 'hi' }, { signal: abort.signal });
    expect(await errorOf(creating)).toEqual(new Error('enough'));
  });

  it('uses the given key, and otherwise a new one for each create', async () => {
    const { client, asked } = await serve((response) => json(response, 202, { run_id: RUN }));
    await client.runs.create({ input: 'hi' }, { idempotencyKey: 'mine' });
    await client.runs.create({ input: 'hi' });
    await client.runs.create({ input: 'hi' });
    const keys = asked.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toBe('mine');
    expect(new Set(keys).size).toBe(3);
  });
});

describe('a limit', () => {
  it('ends a request that gets no answer', async () => {
    // Counted where they leave: a request may reach its limit before the server has read it.
    let sent = 0;
    const counted: typeof fetch = (url, init) => {
      sent += 1;
      return fetch(url, init);
    };
    const { client } = await serve(() => {}, { timeout: 50, maxRetries: 1, fetch: counted });
    const error = await errorOf(client.runs.get(RUN));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(sent).toBe(2);
  });

  it('covers the whole answer', async () => {
    const { client } = await serve((response) => {
      response.writeHead(200).write('{"run_id":');
    });
    expect(await errorOf(client.runs.get(RUN, { timeout: 100, maxRetries: 0 }))).toBeInstanceOf(TimeoutError);
  });

  it.each([0, Number.POSITIVE_INFINITY, 2 ** 40])('of %d means no timeout', async (timeout) => {
    const { client } = await serve((response) => setTimeout(() => json(response, 200, FINISHED), 20));
    expect(await client.runs.get(RUN, { timeout, maxRetries: 0 })).toEqual(FINISHED);
  });
});

describe('a signal', () => {
  it('ends a request with its own reason', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    const { client, asked } = await serve(() => abort.abort(reason));
    expect(await errorOf(client.runs.get(RUN, { signal: abort.signal }))).toBe(reason);
    expect(asked).toHaveLength(1);
  });

  it('ends the wait before the next try', async () => {
    const abort = new AbortController();
    const { client, asked } = await serve((response) => {
      json(response, 503, {}, { 'retry-after': '59' });
      setTimeout(() => abort.abort(new Error('enough')), 20);
    });
    expect(await errorOf(client.runs.get(RUN, { signal: abort.signal }))).toEqual(new Error('enough'));
    expect(asked).toHaveLength(1);
  });

  it('sends nothing when it is already aborted', async () => {
    const { client, asked } = await serve((response) => json(response, 200, FINISHED));
    const signal = AbortSignal.abort(new Error('enough'));
    expect(await errorOf(client.runs.get(RUN, { signal }))).toEqual(new Error('enough'));
    expect(asked).toHaveLength(0);
  });

  it('has no listener left when the request is over', async () => {
    const { client } = await serve((response, _, before) => {
      if (before === 0) hangUp(response);
      else busy(response, before === 1 ? 503 : 400);
    });
    const { signal } = new AbortController();
    await errorOf(client.runs.get(RUN, { signal, maxRetries: 0 }));
    await errorOf(client.runs.get(RUN, { signal }));
    await errorOf(client.runs.streamEvents(RUN, { signal }).result());
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('the API key', () => {
  const apiKey = 'sk-very-secret-1';

  it('appears in no error and in nothing that is printed', async () => {
    const { client, url } = await serve(
      (response, { headers }, before) => {
        if (before === 0) response.writeHead(502).end(`Could not pass on: ${headers.authorization}`);
        else hangUp(response);
      },
      { apiKey, maxRetries: 0 },
    );
    const shown = [
      client,
      client.runs,
      await errorOf(client.runs.get(RUN)),
      await errorOf(client.runs.get(RUN)),
      await errorOf(client.runs.get(RUN, { timeout: 1 })),
      await errorOf(new Talaria({ baseUrl: 'http://127.0.0.1:1', apiKey, maxRetries: 0 }).health.get()),
    ];
    for (const value of shown) {
      expect(inspect(value, { depth: 10, showHidden: true })).not.toContain(apiKey);
      expect(JSON.stringify(value)).not.toContain(apiKey);
      expect(String(value instanceof Error ? value.stack : value)).not.toContain(apiKey);
    }
    expect(client.baseUrl).toBe(url);
  });

  it.each([`${apiKey}\nx`, `${apiKey}\0`, `${apiKey}ключ`])(
    'is rejected at once, without showing it, when no header can hold it',
    async (bad) => {
      const error = await errorOf(Promise.resolve().then(() => new Talaria({ apiKey: bad })));
      expect(error).toBeInstanceOf(TypeError);
      expect(inspect(error)).not.toContain(apiKey);
    },
  );

  it('may have white space around it, as files do', async () => {
    const { client, asked } = await serve((response) => json(response, 200, FINISHED), {
      apiKey: ` ${apiKey}\n`,
    });
    await client.runs.get(RUN);
    expect(asked[0]!.headers.authorization).toBe(`Bearer ${apiKey}`);
  });
});

it('an unreachable server is a connection error with the reason', async () => {
  const client = new Talaria({ baseUrl: 'http://127.0.0.1:1', maxRetries: 0, timeout: NEVER });
  const error = await errorOf(client.health.get());
  expect(error).toBeInstanceOf(ConnectionError);
  expect((error as Error).message).toMatch(/connection failed: .*(ECONNREFUSED|bad port)/);
});
