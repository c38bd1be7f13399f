import { expect, test } from 'vitest';
import { whyNotSent } from './check-arguments.ts';
import { MAX_FRAME_BYTES } from './server/protocol.ts';

test.each([
  [{ command: 'ls', timeout: 5, env: { A: '1' }, list: [1, null, true], missing: undefined }],
  [null],
  [undefined],
  [['ls']],
])('%j can be sent', (args) => {
  expect(whyNotSent(args)).toBeUndefined();
});

test.each([
  ['timeout', { timeout: Number.NaN }],
  ['deep', { a: [{ deep: Number.POSITIVE_INFINITY }] }],
  ['call', { call: () => {} }],
  ['BigInt', { size: 5n }],
])('what JSON would change is refused, with %s', (named, args) => {
  expect(whyNotSent(args)).toContain(named);
});

test('what goes round in circles, and what is too large, is refused', () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  expect(whyNotSent(circle)).toContain('circular');
  expect(whyNotSent({ content: 'x'.repeat(MAX_FRAME_BYTES) })).toContain('is the most');
});
