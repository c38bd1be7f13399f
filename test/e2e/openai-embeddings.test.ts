/** Embeddings, requested with the official `openai` package and made by a fake provider. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI, { BadRequestError, InternalServerError, NotFoundError, RateLimitError } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { errorOf } from '../support/error-of.ts';
import { HostedServer } from '../support/hosted-server.ts';

const [KEY, PROVIDER_KEY] = ['sk-embeddings-0001', 'sk-provider-secret-0001'];

interface Asked {
  authorization: string | undefined;
  body: { model: string; input: unknown };
}

let provider: Server;
let server: HostedServer;
let client: OpenAI;
let asked: Asked[] = [];
/** The provider's response, instead of embeddings. */
let refusal: { status: number; body: string; headers?: Record<string, string> } | undefined;

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

beforeAll(async () => {
  provider = createServer(async (request, response) => {
    const body = JSON.parse(await textOf(request));
    asked.push({ authorization: request.headers.authorization, body });
    if (request.url !== '/v1/embeddings') response.writeHead(404).end();
    else if (refusal !== undefined) response.writeHead(refusal.status, refusal.headers).end(refusal.body);
    else {
      const numbers = new Float32Array([0.5, -1, 2]);
      const embedding =
        body.encoding_format === 'base64' ? Buffer.from(numbers.buffer).toString('base64') : [...numbers];
      const data = [{ object: 'embedding', index: 0, embedding }];
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          object: 'list',
          data,
          model: body.model,
          usage: { prompt_tokens: 2, total_tokens: 2 },
        }),
      );
    }
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const { port } = provider.address() as AddressInfo;
  server = await HostedServer.start({
    modelUrl: `http://127.0.0.1:${port}/v1`,
    env: { API_SERVER_KEY: KEY, OPENAI_API_KEY: PROVIDER_KEY },
  });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: KEY, maxRetries: 0 });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  provider?.close();
});
beforeEach(() => {
  [asked, refusal] = [[], undefined];
});

const input = 'some text';

describe('a provider of OpenAI’s dialect', () => {
  test('gets the key of the server and the model of the client', async () => {
    const { data, usage } = await client.embeddings.create({ model: 'small', input });
    expect(data[0]?.embedding).toEqual([0.5, -1, 2]);
    expect(usage).toEqual({ prompt_tokens: 2, total_tokens: 2 });
    expect(asked).toMatchObject([
      { authorization: `Bearer ${PROVIDER_KEY}`, body: { model: 'small', input } },
    ]);
    const plain = await client.embeddings.create({
      model: 'small',
      input: [input],
      encoding_format: 'float',
    });
    expect(plain.data[0]?.embedding).toEqual([0.5, -1, 2]);
  });

  test('gets nothing for a request without input', async () => {
    for (const body of [{ model: 'small' }, { input }]) {
      const error = await errorOf(client.embeddings.create(body as { model: string; input: string }));
      expect(error).toBeInstanceOf(BadRequestError);
    }
    expect(asked).toEqual([]);
  });

  test('refuses a request with a message that shows no key', async () => {
    refusal = {
      status: 400,
      body: JSON.stringify({ error: { message: `No such model for ${PROVIDER_KEY}` } }),
    };
    const error = (await errorOf(client.embeddings.create({ model: 'none', input }))) as BadRequestError;
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.code).toBe('provider_bad_request');
    expect(error.message).toContain('No such model');
    expect(error.message).not.toContain(PROVIDER_KEY);
  });

  test.each([
    [404, '<html>nothing here</html>', 'status 404'],
    [405, '', 'status 405'],
    [404, JSON.stringify({ error: { message: 'Invalid URL' } }), 'Invalid URL'],
  ])('without such a route (%i %s) is reported as missing', async (status, body, why) => {
    refusal = { status, body };
    const error = await errorOf(client.embeddings.create({ model: 'none', input: 'x' }));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ code: 'embeddings_unavailable', message: expect.stringContaining(why) });
  });

  test("that refuses the server's key is not reported as a problem of the client’s key", async () => {
    refusal = { status: 401, body: `{"error":{"message":"Incorrect API key: ${PROVIDER_KEY}"}}` };
    const error = (await errorOf(client.embeddings.create({ model: 'small', input }))) as InternalServerError;
    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({ status: 502, code: 'provider_auth' });
    expect(error.message).not.toContain(PROVIDER_KEY);
  });

  test('that is busy says when to retry', async () => {
    refusal = { status: 429, body: '{}', headers: { 'retry-after': '7' } };
    const error = (await errorOf(client.embeddings.create({ model: 'small', input }))) as RateLimitError;
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error.headers?.get('retry-after')).toBe('7');
  });

  test.each([500, 302])('that answers with %i is a failure of the provider', async (status) => {
    refusal = { status, body: '<html>' };
    const error = await errorOf(client.embeddings.create({ model: 'small', input }));
    expect(error).toMatchObject({ status: 502, code: 'provider_error' });
  });
});

test("a configured embedding model overrides the client's", async () => {
  const { port } = provider.address() as AddressInfo;
  await using fixed = await HostedServer.start({
    modelUrl: `http://127.0.0.1:${port}/v1`,
    env: { TALARIA_EMBEDDING_MODEL: 'the-one' },
  });
  const embeddings = new OpenAI({ baseURL: `${fixed.url}/v1`, apiKey: 'none' }).embeddings;
  expect((await embeddings.create({ model: 'another', input })).model).toBe('the-one');
  expect(asked).toMatchObject([{ authorization: undefined, body: { model: 'the-one' } }]);
});

test('a server whose model has none says why', async () => {
  await using demo = await HostedServer.start();
  const embeddings = new OpenAI({ baseURL: `${demo.url}/v1`, apiKey: 'none' }).embeddings;
  const error = (await errorOf(embeddings.create({ model: 'small', input }))) as NotFoundError;
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error.code).toBe('embeddings_unavailable');
  expect(error.message).toContain('demo model');
  const capabilities = await (await fetch(`${demo.url}/v1/capabilities`)).json();
  expect(capabilities).toMatchObject({ features: { embeddings: false } });
});
