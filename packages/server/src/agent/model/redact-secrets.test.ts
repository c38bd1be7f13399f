import { expect, test } from 'vitest';
import { redactSecrets } from './redact-secrets.ts';

test.each([
  ['Incorrect API key provided: sk-proj-abc123DEF456.', 'Incorrect API key provided: [redacted].'],
  ['key sk-ant-api03-xyz_987-abc rejected', 'key [redacted] rejected'],
  ['Authorization: Bearer eyJhbGciOi.J9.abc', 'Authorization: Bearer [redacted]'],
  ['GET /v1?key=AbC123&alt=sse', 'GET /v1?key=[redacted]&alt=sse'],
  [`bad AIza${'a'.repeat(35)}`, 'bad [redacted]'],
  ['{"api_key": "abcdefgh12345"}', '{"api_key": "[redacted]"}'],
])('%s', (text, expected) => {
  expect(redactSecrets(text)).toBe(expected);
});

test.each([
  'The model gpt-5 does not exist',
  'maximum context length is 8192 tokens, however you requested 9000 tokens',
  'Set task-runner and disk-cache to retry',
])('leaves ordinary words alone: %s', (text) => {
  expect(redactSecrets(text)).toBe(text);
});

test('masks a known value of any shape, but not a word', () => {
  expect(redactSecrets('key hello.world used', ['hello.world'])).toBe('key [redacted] used');
  expect(redactSecrets('this is none of it', ['none', ''])).toBe('this is none of it');
});
