import { describe, expect, test } from 'vitest';
import { Secrets } from '../../secrets/secrets.ts';
import { ModelError, type ModelErrorCode } from './model.ts';
import { toModelError } from './model-errors.ts';

/** The shape of the SDK's error, with all the data in it that must not leak. */
function apiError(status: number, body: unknown, headers: Record<string, string> = {}): Error {
  return Object.assign(new Error('from the SDK'), {
    name: 'AI_APICallError',
    statusCode: status,
    url: 'https://user:hunter2@api.example.com/v1/chat?key=hunter2',
    requestBodyValues: { messages: ['the secret prompt'] },
    responseHeaders: { 'set-cookie': 'session=hunter2', ...headers },
    responseBody: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

function networkError(code: string): Error {
  const cause = Object.assign(new Error(`connect ${code} 10.0.0.7:443`), { code });
  return Object.assign(new Error('Cannot connect to API', { cause }), {
    name: 'AI_APICallError',
    url: 'https://user:hunter2@api.example.com/v1/chat?key=hunter2',
    requestBodyValues: { messages: ['the secret prompt'] },
  });
}

describe('where providers put their message', () => {
  test.each<[string, unknown, string]>([
    ['OpenAI', { error: { message: 'from OpenAI', type: 't', code: null } }, 'from OpenAI'],
    ['Anthropic', { type: 'error', error: { type: 'x', message: 'from Anthropic' } }, 'from Anthropic'],
    ['Google', [{ error: { code: 400, message: 'from Google', status: 'X' } }], 'from Google'],
    ['Ollama', { error: 'from Ollama' }, 'from Ollama'],
    ['FastAPI', { detail: 'from FastAPI' }, 'from FastAPI'],
    ['FastAPI validation', { detail: [{ loc: ['body'], msg: 'from pydantic' }] }, 'from pydantic'],
    [
      'a proxy in text',
      'upstream is down',
      'The model provider answered with HTTP status 400: upstream is down',
    ],
    ['a proxy in HTML', '<html>Bad Gateway</html>', 'The model provider answered with HTTP status 400.'],
    ['nobody', '', 'The model provider answered with HTTP status 400.'],
    ['JSON without a message', { code: 7 }, 'The model provider answered with HTTP status 400.'],
  ])('%s', (_, body, message) => {
    expect(toModelError(apiError(400, body)).message).toBe(message);
  });
});

describe('an endpoint without the path', () => {
  const at = (url: string, body: unknown = '404 page not found') =>
    toModelError(Object.assign(apiError(404, body), { url }));

  test.each<[string, unknown, string]>([
    ['in text', '404 page not found\n', ' It says: 404 page not found'],
    ['as FastAPI says it', { detail: 'Not Found' }, ' It says: Not Found'],
    [
      'as llama.cpp says it',
      { error: { code: 404, message: 'File Not Found', type: 'not_found_error' } },
      ' It says: File Not Found',
    ],
    ['in HTML', '<html>Not Found</html>', ''],
    ['without a word', '', ''],
  ])('%s: the message has the URL without secrets, and asks about /v1', (_, body, said) => {
    expect(at('https://user:hunter2@api.example.com/api/chat/completions?key=hunter2', body)).toMatchObject({
      code: 'provider_bad_request',
      retryable: false,
      isWrongUrl: true,
      message:
        'The model provider answered with HTTP status 404 at https://api.example.com/api/chat/completions; ' +
        `is /v1 missing in OPENAI_BASE_URL?${said}`,
    });
  });

  test('with /v1 in the URL, the question is about all of it', () => {
    const { message } = at('http://127.0.0.1:1/openai/v1/chat/completions', '');
    expect(message).toContain('127.0.0.1:1/openai/v1/chat/completions; is OPENAI_BASE_URL right?');
  });

  test('a model that does not exist is not a wrong URL', () => {
    const error = at('http://127.0.0.1:1/chat/completions', { error: { message: "model 'x' not found" } });
    expect(error).toMatchObject({ message: "model 'x' not found", isWrongUrl: false });
  });
});

describe('codes', () => {
  const error = (message: string, fields: object = {}) => ({ error: { message, ...fields } });

  test.each<[string, Error, ModelErrorCode, boolean]>([
    ['Anthropic overloaded', apiError(529, error('Overloaded')), 'provider_unavailable', true],
    [
      'Anthropic prompt',
      apiError(400, error('prompt is too long: 210000 tokens > 200000')),
      'context_overflow',
      false,
    ],
    [
      'OpenAI prompt',
      apiError(400, error("This model's maximum context length is 8192 tokens.")),
      'context_overflow',
      false,
    ],
    [
      'Gemini prompt',
      apiError(400, error('The input token count (1200000) exceeds the maximum number of tokens allowed')),
      'context_overflow',
      false,
    ],
    [
      'llama.cpp prompt',
      apiError(
        400,
        error('the request exceeds the available context size', { type: 'exceed_context_size_error' }),
      ),
      'context_overflow',
      false,
    ],
    [
      'a prompt too long, reported as 500',
      apiError(500, error('context window exceeded')),
      'context_overflow',
      false,
    ],
    ['a body too large', apiError(413, 'Payload Too Large'), 'context_overflow', false],
    [
      'a rate limit that speaks of tokens',
      apiError(429, error('Rate limit: too many tokens per minute')),
      'provider_rate_limit',
      true,
    ],
    ['a redirect', apiError(301, '<html>Moved</html>'), 'provider_error', false],
    ['no money left', apiError(402, error('Insufficient credits')), 'provider_rate_limit', false],
    [
      'Gemini with a wrong key',
      apiError(400, error('API key not valid. Please pass a valid API key.', { status: 'INVALID_ARGUMENT' })),
      'provider_auth',
      false,
    ],
    [
      'a filter of Azure',
      apiError(400, error('filtered', { code: 'content_filter' })),
      'content_filtered',
      false,
    ],
    ['refused', networkError('ECONNREFUSED'), 'provider_unavailable', true],
    ['reset', networkError('ECONNRESET'), 'provider_unavailable', true],
    ['timed out', networkError('ETIMEDOUT'), 'provider_unavailable', true],
    ['no such host', networkError('ENOTFOUND'), 'provider_unavailable', true],
    ['name server down', networkError('EAI_AGAIN'), 'provider_unavailable', true],
    ['undici', networkError('UND_ERR_SOCKET'), 'provider_unavailable', true],
    ['certificate expired', networkError('CERT_HAS_EXPIRED'), 'provider_unavailable', false],
    ['certificate self-signed', networkError('DEPTH_ZERO_SELF_SIGNED_CERT'), 'provider_unavailable', false],
    [
      'plain HTTP where TLS was expected',
      networkError('ERR_SSL_WRONG_VERSION_NUMBER'),
      'provider_unavailable',
      false,
    ],
    ['anything else', new Error('surprise'), 'provider_error', false],
  ])('%s', (_, thrown, code, retryable) => {
    expect(toModelError(thrown)).toMatchObject({ code, retryable });
  });

  test('all addresses of a host fail together', () => {
    const each = [networkError('ECONNREFUSED'), networkError('ECONNREFUSED')];
    const thrown = new Error('failed', { cause: new AggregateError(each) });
    expect(toModelError(thrown)).toMatchObject({ code: 'provider_unavailable', retryable: true });
  });

  test.each<[string, unknown, ModelErrorCode, boolean]>([
    ['a status', { message: 'x', statusCode: 429 }, 'provider_rate_limit', true],
    ['a number as code (OpenRouter)', { message: 'x', code: 502 }, 'provider_unavailable', true],
    ['Anthropic overloaded', { message: 'x', type: 'overloaded_error' }, 'provider_unavailable', true],
    ['OpenAI server_error', { message: 'x', type: 'server_error', code: null }, 'provider_unavailable', true],
    ['a spent quota', { message: 'x', code: 'insufficient_quota' }, 'provider_rate_limit', false],
    ['a long prompt', { message: 'x', code: 'context_length_exceeded' }, 'context_overflow', false],
    ['nothing but words', { message: 'x' }, 'provider_error', false],
  ])('an error object in the stream: %s', (_, thrown, code, retryable) => {
    expect(toModelError(thrown)).toMatchObject({ code, retryable, message: 'x' });
  });

  test('an error chunk in an unknown shape still gives its message', () => {
    const thrown = Object.assign(new Error('Type validation failed: …'), {
      name: 'AI_TypeValidationError',
      value: { error: 'model runner crashed' },
    });
    expect(toModelError(thrown).message).toBe('model runner crashed');
  });

  test('an abort is never retryable, whatever was thrown because of it', () => {
    const signal = AbortSignal.abort();
    expect(toModelError(networkError('ECONNRESET'), { signal }).retryable).toBe(false);
    expect(toModelError(new DOMException('x', 'AbortError')).retryable).toBe(false);
  });

  test('a ModelError stays what it is', () => {
    const error = new ModelError('content_filtered', 'x', { retryable: false });
    expect(toModelError(error)).toBe(error);
  });
});

describe('retry time', () => {
  const wait = (headers: Record<string, string>, body: unknown = {}) =>
    toModelError(apiError(429, body, headers)).retryAfterMs;

  test.each([
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 0],
    [{ 'retry-after': '-3' }, undefined],
    [{}, undefined],
  ])('%j', (headers, expected) => {
    expect(wait(headers as Record<string, string>)).toBe(expected);
  });

  test('Gemini puts it into the body', () => {
    const details = [{ '@type': 'x' }, { '@type': 'RetryInfo', retryDelay: '34.5s' }];
    expect(wait({}, { error: { message: 'x', details } })).toBe(34_500);
  });
});

describe('message', () => {
  test('is one line of at most 500 characters', () => {
    const error = toModelError(apiError(400, { error: { message: `a\n\n  b\t${'x'.repeat(2000)}` } }));
    expect(error.message.startsWith('a b x')).toBe(true);
    expect(error.message).toHaveLength(500);
  });

  test('a key cut by the limit is not shown in part', () => {
    const secret = 'my-own-format-of-a-key-0123456789';
    const message = `${'x'.repeat(485)} ${secret}`;
    const error = toModelError(apiError(400, { error: { message } }), { secrets: new Secrets([secret]) });
    expect(error.message).not.toContain('my-own');
  });

  test.each([apiError(500, 'oops'), networkError('ECONNRESET')])('shows nothing of the request', (thrown) => {
    const error = toModelError(thrown);
    expect(JSON.stringify([error.message, error.cause, error.stack])).not.toMatch(/hunter2|secret prompt/);
  });
});
