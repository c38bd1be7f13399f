import { expect, test } from 'vitest';
import { maskValue } from './credential-patterns.ts';
import { Secrets } from './secrets.ts';

const mask = (text: string, known: readonly string[] = []): string => new Secrets(known).mask(text);

test.each([
  ['Incorrect API key provided: sk-proj-abc123DEF456.', 'Incorrect API key provided: [redacted].'],
  ['key sk-ant-api03-xyz_987-abc rejected', 'key [redacted] rejected'],
  ['Authorization: Bearer eyJhbGciOi.J9.abc', 'Authorization: Bearer [redacted]'],
  ['GET /v1?key=AbC123&alt=sse', 'GET /v1?key=[redacted]&alt=sse'],
  [`bad AIza${'a'.repeat(35)}`, 'bad [redacted]'],
  ['{"api_key": "abcdefgh12345"}', '{"api_key": "[redacted]"}'],
  ['export GITHUB_TOKEN=ghp_abcdefgh12345678', 'export GITHUB_TOKEN=[redacted]'],
  ['PGPASSWORD=hunter22 psql', 'PGPASSWORD=[redacted] psql'],
  ['postgres://ada:hunter2@db/x', 'postgres://ada:[redacted]@db/x'],
  ['AKIAABCDEFGHIJKLMNOP', '[redacted]'],
  ['a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b', 'a [redacted] b'],
  ['eyJhbGciOiJI.eyJzdWIiOiIx.c2ln', '[redacted]'],
])('%s', (text, expected) => {
  expect(mask(text)).toBe(expected);
});

test.each([
  'The model gpt-5 does not exist',
  'maximum context length is 8192 tokens, however you requested 9000 tokens',
  'Set task-runner and disk-cache to retry',
])('leaves ordinary words alone: %s', (text) => {
  expect(mask(text)).toBe(text);
});

test('masks a known value of any shape, but not a word', () => {
  expect(mask('key hello.world used', ['hello.world'])).toBe('key [redacted] used');
  expect(mask('this is none of it', ['none', ''])).toBe('this is none of it');
});

test('masks a value completely when it begins with another one', () => {
  expect(mask('key abcdef-123 used', ['abcdef', 'abcdef-123'])).toBe('key [redacted] used');
});

test('masks the strings inside a value, and whole fields whose name suggests a secret', () => {
  const value = {
    command: 'curl -H "Authorization: Bearer abcdef123456"',
    env: { MY_TOKEN: 'x' },
    n: 1,
    list: ['ok'],
  };
  expect(maskValue(value, (text) => mask(text))).toEqual({
    command: 'curl -H "Authorization: Bearer [redacted]"',
    env: { MY_TOKEN: '[redacted]' },
    n: 1,
    list: ['ok'],
  });
});

test('masks inside JSON, which stays JSON, and masks anything else as text', () => {
  const { maskJson, maskKnown } = new Secrets(['hello.world']);
  expect(maskJson('{"a":"hello.world","token":"x"}')).toBe('{"a":"[redacted]","token":"[redacted]"}');
  expect(maskJson('{"a":"hello.world')).toBe('{"a":"[redacted]');
  expect(maskKnown('hello.world, sk-proj-abc123DEF456')).toBe('[redacted], sk-proj-abc123DEF456');
});
