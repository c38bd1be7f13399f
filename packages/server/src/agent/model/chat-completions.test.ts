/** Endpoints that answer in odd ways. What an ordinary one does is in ai-sdk-model.test.ts. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createModel } from './create-model.ts';
import type { ModelErrorCode } from './model.ts';
import { collect, collectFailure } from './testing/replay-server.ts';

const STREAM = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';
const TEXT = 'data: {"choices":[{"delta":{"content":"abc"},"finish_reason":null}]}\n\n';
const STOP = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
const DONE = 'data: [DONE]\n\n';
const closed = (head: string, body: string) => `${head}connection: close\r\n\r\n${body}`;

/** Answers every request with these bytes, and then does what it is told with the connection. */
async function serve(bytes: string, then: (socket: Socket) => void = (socket) => socket.end()) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => socket.write(bytes, () => then(socket)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    model: createModel({ baseUrl: `http://${host}/v1`, model: 'm' }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const json = (status: string, body: string) =>
  closed(`HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n`, body);
const UNREADABLE = 'The model provider sent a response that could not be read.';

test.each<[string, string, ModelErrorCode, boolean, string]>([
  [
    'an error instead of a stream, with status 200',
    json('200 OK', '{"error":{"message":"no such model","code":404}}'),
    'provider_bad_request',
    false,
    'no such model',
  ],
  ['JSON instead of a stream', json('200 OK', '{"choices":[]}'), 'provider_error', true, UNREADABLE],
  ['broken JSON instead of a stream', json('200 OK', '{"cho'), 'provider_error', true, UNREADABLE],
  [
    'an error with a status but without words',
    closed(STREAM, 'data: {"error":{"code":500}}\n\n'),
    'provider_unavailable',
    true,
    'The model provider reported an error (status 500).',
  ],
  [
    'an error with a status beside it',
    closed(STREAM, 'data: {"error":{"message":"overloaded"},"status":503}\n\n'),
    'provider_unavailable',
    true,
    'overloaded',
  ],
  [
    'an error that says nothing',
    closed(STREAM, 'data: {"error":true}\n\n'),
    'provider_error',
    true,
    UNREADABLE,
  ],
  [
    'no body',
    closed('HTTP/1.1 204 No Content\r\n', ''),
    'provider_unavailable',
    true,
    'The model provider ended the response before it was complete.',
  ],
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', 'provider_error', true, UNREADABLE],
])('%s', async (_, bytes, code, retryable, message) => {
  await using server = await serve(bytes);
  const { error } = await collectFailure(server.model, { prompt: 'x' });
  expect(error).toMatchObject({ code, retryable, message });
});

test('a web page instead of a stream means a wrong URL, and is not retried', async () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n';
  await using server = await serve(closed(head, '\n<!doctype html><title>Ollama</title>'));
  const { error } = await collectFailure(server.model, { prompt: 'x' });
  expect(error).toMatchObject({
    code: 'provider_unavailable',
    retryable: false,
    isWrongUrl: true,
    message:
      "The model provider sent text/html instead of a model's answer at " +
      `http://${server.host}/v1/chat/completions; is OPENAI_BASE_URL right?`,
  });
});

test('a missing path is shown with the URL that was called, without its password', async () => {
  await using server = await serve(closed('HTTP/1.1 404 Not Found\r\n', '404 page not found'));
  const model = createModel({ baseUrl: `http://user:hunter2@${server.host}/`, model: 'm' });
  const { error } = await collectFailure(model, { prompt: 'x' });
  expect(error).toMatchObject({ code: 'provider_bad_request', isWrongUrl: true });
  expect(error.message).toContain(
    `HTTP status 404 at http://${server.host}/chat/completions; is /v1 missing in OPENAI_BASE_URL?`,
  );
});

test('a refusal keeps its status if its explanation breaks off', async () => {
  const head = 'HTTP/1.1 429 Too Many\r\nretry-after: 7\r\ncontent-length: 500\r\n\r\n{"err';
  await using server = await serve(head, (socket) => socket.resetAndDestroy());
  const { error } = await collectFailure(server.model, { prompt: 'x' });
  expect(error).toMatchObject({ code: 'provider_rate_limit', retryable: true, retryAfterMs: 7000 });
});

test('the error distinguishes a connection that was lost during the answer from one that was never made', async () => {
  const chunk = `${TEXT.length.toString(16)}\r\n${TEXT}\r\n`;
  const bytes = `${STREAM}transfer-encoding: chunked\r\n\r\n${chunk}`;
  await using server = await serve(bytes, (socket) => socket.resetAndDestroy());
  const { error } = await collectFailure(server.model, { prompt: 'x' });
  expect(error.message).toBe(`Lost the connection to the model provider at ${server.host} (ECONNRESET).`);
});

test('any 2xx status is accepted', async () => {
  const bytes = closed('HTTP/1.1 201 Created\r\ncontent-type: text/event-stream\r\n', TEXT + STOP + DONE);
  await using server = await serve(bytes);
  expect((await collect(server.model, { prompt: 'x' })).text).toBe('abc');
});

test('a stream may have the type of JSON', async () => {
  await using server = await serve(json('200 OK', TEXT + STOP + DONE));
  expect((await collect(server.model, { prompt: 'x' })).text).toBe('abc');
});

test('the step ends although the server keeps the response open after its last chunk', async () => {
  await using server = await serve(closed(STREAM, TEXT + STOP + DONE), () => {});
  const { text, finish } = await collect(server.model, { prompt: 'x' });
  expect([text, finish.reason]).toEqual(['abc', 'stop']);
});
